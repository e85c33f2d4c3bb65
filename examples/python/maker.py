"""A maker's bot in Python: signs two orders, posts them, waits until they can be filled, and cancels one.
pip install eth-account, and beside a running `npm start`: python3 examples/python/maker.py"""

import json
import os
import re
import secrets
import time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from eth_account import Account

# Account 1 of anvil: everyone has its key. `npm start` puts it on the whitelist, with tokens and their approval.
KEY = os.environ.get("MAKER_KEY", "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d")
if not re.fullmatch("0x(?!0{64}|[fF]{31})[0-9a-fA-F]{64}", KEY):  # an error of a library may show the key
    raise SystemExit("MAKER_KEY is no private key: 0x and 64 hex digits")
MAKER = Account.from_key(KEY).address
STACK_FILE = os.environ.get("MAKERBOOK_DATA", ".local") + "/stack.json"
if not os.path.exists(STACK_FILE):
    raise SystemExit(f"no stack runs here ({STACK_FILE} is missing): start it with `npm start`")
STACK = json.load(open(STACK_FILE, encoding="utf-8"))
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
    """Signs typed data (EIP-712). The domain of a list or a cancellation has a salt, that of an order none."""
    domain = DOMAIN if salt is None else {**DOMAIN, "salt": f"0x{int(salt, 16):064x}"}
    types = {name: [dict(zip(("type", "name"), field.split())) for field in fields.split(", ")]
             for name, fields in structs.items()}  # fmt: skip
    return "0x" + bytes(Account.sign_typed_data(KEY, domain, types, message).signature).hex()


def send(method, url, body=None):
    """@returns an answer and its JSON. Throws where it is cut off, or a page of a gateway."""
    data = None if body is None else json.dumps(body).encode()
    try:
        answer = urlopen(Request(url, data, {"Content-Type": "application/json"}, method=method), timeout=10)
    except HTTPError as error:
        answer = error
    with answer:
        hear(answer.headers)
        return answer, json.load(answer)


def call(method, make_query=dict, body=None):
    """Sends until there is an answer. Each try makes its query anew: the signature of a list is good for one."""
    may_be_stored = False
    for attempt in range(1, 7):
        problem, wait_seconds = {"code": "no answer", "status": 504, "retryable": True}, 0.25 * 2**attempt
        try:
            answer, content = send(method, f"{STACK['baseUrl']}/v0alpha/limit-orders?{urlencode(make_query())}", body)
            if answer.status == 200:
                return content
            wait_seconds = max(wait_seconds, int(answer.headers.get("Retry-After", 0)))
            if answer.headers.get_content_type() == "application/problem+json":
                problem = content
        except (OSError, HTTPException, ValueError):  # refused, broken off, too late, no JSON
            pass
        if problem["code"] == "duplicate" and may_be_stored:
            return []  # An earlier try has stored the orders, and its answer was lost.
        if not problem["retryable"]:
            break
        may_be_stored = may_be_stored or problem["status"] >= 500
        time.sleep(wait_seconds)
    raise SystemExit(f"{method}: {problem}")


def new_order(nonce, usdt, weth):
    order = {"salt": "0x" + secrets.token_hex(32), "nonce": nonce, "expiresAt": hex(int(now()) + 3600)}
    order |= {"making": {"token": USDT, "amount": hex(usdt)}, "taking": {"token": WETH, "amount": hex(weth)}}
    order |= {"maker": MAKER, "permittedTaker": "0x" + "00" * 20}
    return {"order": order, "signature": sign(order, Order=ORDER, TokenAmount="address token, uint256 amount")}


def list_query():
    message, salt = {"issuedAt": int(now()) - 1}, "0x" + secrets.token_hex(32)  # a second back: instances differ
    return message | {"salt": salt, "signature": sign(message, salt, GetLimitOrdersRequest="uint256 issuedAt")}


# `nonce(address)` of the contract: an order with another nonce counts as cancelled.
ask = [{"to": STACK["limitOrderProtocol"], "data": "0x70ae92d2" + MAKER[2:].rjust(64, "0")}, "latest"]
nonce = send("POST", STACK["rpcUrl"], {"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": ask})[1]["result"]
orders = [new_order(nonce, 100_000_000, 40 * 10**15), new_order(nonce, 50_000_000, 20 * 10**15)]
call("POST", body=orders)  # all of them are stored, or none
signatures = [order["signature"] for order in orders]

for _ in range(120):
    mine = [record for record in call("GET", list_query) if record["signature"] in signatures]
    # A list that lacks an order for now says so (X-Read-Lag): the next one has it.
    if len(mine) == len(orders) and all(record["status"] != "VALIDATING" for record in mine):
        break
    time.sleep(0.5)
for record in mine:  # INACTIVE with a reason: it becomes ACTIVE as soon as the funds are there
    print("listed", record["orderHash"], record.get("reason", record["status"]))

# The domain's salt is the order's: a uint256 by the interface, and taken as a bytes32 too, all that eth_account has.
first_hash, salt = mine[0]["orderHash"], mine[0]["order"]["salt"]
signature = sign({"orderHash": first_hash}, salt, OrderCancellationRequest="bytes32 orderHash")
for record in call("DELETE", lambda: {"orderHashes": first_hash, "signatures": signature}):
    print("cancelled", record["orderHash"], record["status"])
