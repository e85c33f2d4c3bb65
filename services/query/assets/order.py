import json
import os
import re
import secrets
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from eth_account import Account

BASE = "BASE_URL/v0alpha/limit-orders"
KEY = os.environ.get("MAKER_KEY", "")
if not re.fullmatch("0x(?!0{64}|[fF]{31})[0-9a-fA-F]{64}", KEY):  # an error of a library may show it
    raise SystemExit("MAKER_KEY is no private key: 0x and 64 hex digits")


def send(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(url, data, {"Content-Type": "application/json"})) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


_, info = send(f"{BASE}/info")
order = {
    "salt": "0x" + secrets.token_hex(32),
    "nonce": "0x0",
    "expiresAt": hex(int(time.time()) + 3600),
    "making": {"token": os.environ["SELL_TOKEN"], "amount": hex(1000)},
    "taking": {"token": os.environ["BUY_TOKEN"], "amount": hex(500)},
    "maker": Account.from_key(KEY).address,
    "permittedTaker": "0x" + "00" * 20,
}
types = {
    "Order": [
        {"name": "salt", "type": "uint256"},
        {"name": "nonce", "type": "uint256"},
        {"name": "expiresAt", "type": "uint256"},
        {"name": "making", "type": "TokenAmount"},
        {"name": "taking", "type": "TokenAmount"},
        {"name": "maker", "type": "address"},
        {"name": "permittedTaker", "type": "address"},
    ],
    "TokenAmount": [
        {"name": "token", "type": "address"},
        {"name": "amount", "type": "uint256"},
    ],
}
signed = Account.sign_typed_data(KEY, info["domains"]["order"], types, order)
signature = "0x" + bytes(signed.signature).hex()
print(*send(BASE, [{"order": order, "signature": signature}]))
