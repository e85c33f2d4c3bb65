import { hexlify, randomBytes, toQuantity, Wallet, ZeroAddress } from 'ethers';

const baseUrl = 'BASE_URL';
const { MAKER_KEY, SELL_TOKEN, BUY_TOKEN } = process.env;
// An error of a library may show the key.
if (!/^0x(?!0{64}|[fF]{31})[0-9a-fA-F]{64}$/.test(MAKER_KEY))
  throw new Error('MAKER_KEY is no private key: 0x and 64 hex digits');
const maker = new Wallet(MAKER_KEY);

const now = () => Math.floor(Date.now() / 1000);
const { domains } = await (await fetch(`${baseUrl}/v0alpha/limit-orders/info`)).json();

const order = {
  salt: hexlify(randomBytes(32)),
  nonce: '0x0',
  expiresAt: toQuantity(now() + 3600),
  making: { token: SELL_TOKEN, amount: toQuantity(1000) },
  taking: { token: BUY_TOKEN, amount: toQuantity(500) },
  maker: maker.address,
  permittedTaker: ZeroAddress,
};
const types = {
  Order: [
    { name: 'salt', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'expiresAt', type: 'uint256' },
    { name: 'making', type: 'TokenAmount' },
    { name: 'taking', type: 'TokenAmount' },
    { name: 'maker', type: 'address' },
    { name: 'permittedTaker', type: 'address' },
  ],
  TokenAmount: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
};
const signature = await maker.signTypedData(domains.order, types, order);
const placed = await fetch(`${baseUrl}/v0alpha/limit-orders`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify([{ order, signature }]),
});
console.log(placed.status, await placed.json());

const salt = hexlify(randomBytes(32));
const issuedAt = now() - 1;
const listTypes = {
  GetLimitOrdersRequest: [{ name: 'issuedAt', type: 'uint256' }],
};
const query = new URLSearchParams({
  issuedAt: String(issuedAt),
  salt,
  signature: await maker.signTypedData({ ...domains.list, salt }, listTypes, { issuedAt }),
});
const listed = await fetch(`${baseUrl}/v0alpha/limit-orders?${query}`);
console.log(listed.status, await listed.json());
