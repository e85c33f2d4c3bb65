import { computeAddress, concat, encodeRlp, keccak256, SigningKey, stripZerosLeft, toBeArray, Wallet } from 'ethers';
import { eventually } from '../kit/eventually.js';
import type { KaiaNetwork } from './start-network.js';

/** The types of a transaction that changes a Kaia account's key (TxTypeAccountUpdate), and of an AccountKeyPublic. */
const ACCOUNT_UPDATE = '0x20';
const PUBLIC_KEY = '0x02';
const GAS = 200_000n;

/** Gives the account of this key a new key, on the chain. @returns its address */
export async function changeKey(network: KaiaNetwork, key: string): Promise<string> {
  const address = computeAddress(key);
  const numbers = [await network.ask('eth_getTransactionCount', address, 'latest'), await network.ask('eth_gasPrice')];
  const [nonce = 0n, gasPrice = 0n] = numbers.map((number) => BigInt(String(number)));
  const next = SigningKey.computePublicKey(Wallet.createRandom().privateKey, true);
  const fields = [
    toBeArray(nonce),
    toBeArray(gasPrice * 2n),
    toBeArray(GAS),
    address,
    concat([PUBLIC_KEY, encodeRlp(next)]),
  ];
  const signed = encodeRlp([encodeRlp([ACCOUNT_UPDATE, ...fields]), toBeArray(BigInt(network.chainId)), '0x', '0x']);
  const { r, s, yParity } = new SigningKey(key).sign(keccak256(signed));
  const v = toBeArray(BigInt(network.chainId * 2 + 35 + yParity));
  const raw = concat([ACCOUNT_UPDATE, encodeRlp([...fields, [[v, stripZerosLeft(r), stripZerosLeft(s)]]])]);
  const hash = await network.ask('kaia_sendRawTransaction', raw);
  const status = async () =>
    ((await network.ask('kaia_getTransactionReceipt', hash)) as { status: string } | null)?.status;
  await eventually(status, '0x1');
  return address;
}
