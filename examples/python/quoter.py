"""A market maker's bot in Python: keeps ten orders in the book and moves all of them every second, in one piece. A dead-man's
switch takes them back where it dies. pip install eth-account, and beside a running `npm start`: python3 examples/python/quoter.py"""

import json
import os
import re
import secrets
import threading
import time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from eth_account import Account

QUOTES, SWITCH_SECONDS = 10, 5
# Account 1 of anvil: everyone has its key. `npm start` puts it on the whitelist, with tokens and their approval.
KEY = os.environ.get("MAKER_KEY", "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d")
if not re.fullmatch("0x(?!0{64}|[fF]{31})[0-9a-fA-F]{64}", KEY):  # an error of a library may show the key
    raise SystemExit("MAKER_KEY is no private key: 0x and 64 hex digits")
MAKER = Account.from_key(KEY).address
STACK_FILE = os.environ.get("MAKERBOOK_DATA", ".local") + "/stack.json"
if not os.path.exists(STACK_FILE):
    raise SystemExit(f"no stack runs here ({STACK_FILE} is missing): start it with `npm start`")
STACK = json.load(open(STACK_FILE, encoding="utf-8"))
ORDERS_URL = f"{STACK['baseUrl']}/v0alpha/limit-orders"
USDT, WETH = (token["address"] for token in STACK["tokens"][:2])
DOMAIN = {"name": f"{STACK['serviceName']} Limit Order Protocol", "version": "v0"}
DOMAIN |= {"chainId": STACK["chainId"], "verifyingContract": STACK["limitOrderProtocol"]}
ORDER = (
    "uint256 salt, uint256 nonce, uint256 expiresAt, TokenAmount making, TokenAmount taking, "
    "address maker, address permittedTaker"
)

ahead = 0.0  # how far the service's clock is ahead of this one, as its last answer told


def hear(headers):
    global ahead
    if "X-Server-Time" in headers:
        ahead = int(headers["X-Server-Time"]) / 1000 - time.time()


def now():
    return time.time() + ahead


def sign(message, salt=None, **structs):
    """Signs typed data (EIP-712). The domain of a list or a cancellation has a salt, that of all else none."""
    domain = DOMAIN if salt is None else {**DOMAIN, "salt": f"0x{int(salt, 16):064x}"}
    types = {name: [dict(zip(("type", "name"), field.split())) for field in fields.split(", ")]
             for name, fields in structs.items()}  # fmt: skip
    return "0x" + bytes(Account.sign_typed_data(KEY, domain, types, message).signature).hex()


def send_once(method, url, body=None):
    """@returns the answer, or the problem; None if the outcome is not known"""
    data, wait_seconds = None if body is None else json.dumps(body).encode(), 0.5
    try:
        try:
            answer = urlopen(Request(url, data, {"Content-Type": "application/json"}, method=method), timeout=10)
        except HTTPError as error:
            answer = error
        with answer:
            hear(answer.headers)
            wait_seconds = max(wait_seconds, int(answer.headers.get("Retry-After", 0)))
            content = json.load(answer)
            if answer.status == 200 and "X-Read-Lag" not in answer.headers:  # a list that lacks something says so
                return content
            if answer.headers.get_content_type() == "application/problem+json" and not content["retryable"]:
                return content
    except (OSError, HTTPException, ValueError):  # refused, broken off, too late, or a page of a gateway
        pass
    time.sleep(wait_seconds)
    return None


def send(method, url, body=None):
    """Sends the same until there is an answer."""
    while (answer := send_once(method, url, body)) is None:
        pass
    return answer


def new_order(nonce, price):
    order = {"salt": "0x" + secrets.token_hex(32), "nonce": nonce, "expiresAt": hex(int(now()) + 300)}
    order |= {"making": {"token": USDT, "amount": hex(1_000_000)}, "taking": {"token": WETH, "amount": hex(price)}}
    order |= {"maker": MAKER, "permittedTaker": "0x" + "00" * 20}
    return {"order": order, "signature": sign(order, Order=ORDER, TokenAmount="address token, uint256 amount")}


def cancellation(record):
    """With what the list says to be left: where more is filled by then, the replacement does nothing."""
    left = record.get("remainingMakingAmount", record["order"]["making"]["amount"])
    order_hash, salt = record["orderHash"], record["order"]["salt"]
    signature = sign({"orderHash": order_hash}, salt, OrderCancellationRequest="bytes32 orderHash")
    return {"orderHash": order_hash, "signature": signature, "salt": salt, "remainingMakingAmount": left}


def list_orders():
    """Signed anew in each try: a salt is taken once, and `issuedAt` for 30 seconds."""
    message, salt = {"issuedAt": int(now()) - 1}, "0x" + secrets.token_hex(32)  # a second back: instances differ
    query = message | {"salt": salt, "signature": sign(message, salt, GetLimitOrdersRequest="uint256 issuedAt")}
    return send_once("GET", f"{ORDERS_URL}?{urlencode(query)}")


def beat():
    """Unless the next heartbeat comes in time, the service cancels all orders."""
    while True:
        message = {"maker": MAKER, "cancelAt": int(now()) + SWITCH_SECONDS, "issuedAtMs": int(now() * 1000)}
        signature = sign(message, HeartbeatRequest="address maker, uint256 cancelAt, uint256 issuedAtMs")
        send("POST", f"{ORDERS_URL}/heartbeat", message | {"signature": signature})
        time.sleep(1)


# `nonce(address)` of the contract: an order with another nonce counts as cancelled.
ask = [{"to": STACK["limitOrderProtocol"], "data": "0x70ae92d2" + MAKER[2:].rjust(64, "0")}, "latest"]
nonce = send("POST", STACK["rpcUrl"], {"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": ask})["result"]
threading.Thread(target=beat, daemon=True).start()
for move in range(10**9):
    gone = list_orders()  # also what an earlier run has left
    if not isinstance(gone, list):  # not known: new orders would stand beside the old ones
        print((gone or {}).get("code", "no list"), flush=True)
        time.sleep(1)
        continue
    placed = [new_order(nonce, (400 + n) * 10**12 + move) for n in range(QUOTES)]
    if gone:
        # All or nothing. `not_found` or `remaining_changed`: one of them is filled, and the next list says how far.
        answer = send("POST", f"{ORDERS_URL}/replacements", {"cancel": [cancellation(one) for one in gone], "place": placed})
    else:
        answer = send("POST", ORDERS_URL, placed)
    # They were signed just now: a duplicate says that an earlier try has stored them. After another refusal the next list tells.
    code = answer.get("code", "moved") if isinstance(answer, dict) else "moved"
    print("moved" if code == "duplicate" else code, len(gone), flush=True)
    time.sleep(1)
