"""A maker's bot in Python: signs two orders, posts them, waits until they can be filled, and cancels one.
pip install ./shared/client-python, and beside a running `npm start`: python3 examples/python/maker.py"""

import json
import os
import time
from urllib.request import Request, urlopen


from makerbook import Client, Domain, Receipt, Retry, read_private_key, verify_receipt

# Account 1 of anvil: everyone has its key. `npm start` puts it on the whitelist, with tokens and their approval.
KEY = os.environ.get("MAKER_KEY", "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d")
STACK_FILE = os.environ.get("MAKERBOOK_DATA", ".local") + "/stack.json"
if not os.path.exists(STACK_FILE):
    raise SystemExit(f"no stack runs here ({STACK_FILE} is missing): start it with `npm start`")
with open(STACK_FILE, encoding="utf-8") as file:
    STACK = json.load(file)
USDT, WETH = (token["address"] for token in STACK["tokens"][:2])
DOMAIN = Domain(STACK["chainId"], STACK["serviceName"], STACK["limitOrderProtocol"])

# The service's signature over what it has stored, and where in its log: keep them for disputes.
receipts: list[Receipt] = []
client = Client(
    STACK["baseUrl"],
    read_private_key("MAKER_KEY", KEY),
    DOMAIN,
    on_receipt=receipts.append,
    # Repeats what is `retryable`: `rate_limited` after the time in Retry-After, else after a growing one.
    retry=Retry(attempts_max=6, on_retry=lambda error, seconds: print(f"again in {seconds:.1f} s: {error.code}")),
)

# `nonce(address)` of the contract: an order with another nonce counts as cancelled.
ask = [{"to": STACK["limitOrderProtocol"], "data": "0x70ae92d2" + client.maker[2:].rjust(64, "0")}, "latest"]
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": ask}).encode()
with urlopen(Request(STACK["rpcUrl"], body, {"Content-Type": "application/json"})) as answer:
    nonce = json.load(answer)["result"]

# By the service's clock: this one may be wrong.
expires_at = client.server_time_ms() // 1000 + 3600
orders = [
    client.sign_order(
        making={"token": USDT, "amount": usdt},
        taking={"token": WETH, "amount": weth},
        expires_at=expires_at,
        nonce=nonce,
    )
    for usdt, weth in ((100_000_000, 40 * 10**15), (50_000_000, 20 * 10**15))
]
# All of them are stored, or none. A try without an answer may have stored them: `duplicate` at the next one says so.
# They were signed just now, so it can mean nothing else. For orders that were posted before, look at the list.
client.place_orders(orders, duplicate_counts_as_stored=True)

hashes = {order["orderHash"] for order in orders}
for _ in range(120):
    mine = [record for record in client.list_orders().records if record["orderHash"] in hashes]
    # A list that lacks an order for now says so (`read_lag`): the next one has it.
    if len(mine) == len(orders) and all(record["status"] != "VALIDATING" for record in mine):
        break
    time.sleep(0.5)
for record in mine:  # INACTIVE has a reason, and becomes ACTIVE as soon as the funds are there
    print("listed", record["orderHash"], record.get("reason", record["status"]))

# At no gas, and for the service and its router alone: `cancelOrder` of the contract ends an order for everybody.
cancelled = client.cancel_orders(orders[:1])
receipt_signers = client.read_info()["receiptSigners"]
for receipt in receipts:
    if not verify_receipt(receipt, DOMAIN, receipt_signers):
        raise SystemExit("the service did not sign a receipt")
    print("receipt", receipt.position)
for item in cancelled:
    print("cancelled", item["orderHash"], item["status"])
