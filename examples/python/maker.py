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

# The service's signed proofs of what it has stored, and where in its log. Keep them for disputes.
receipts: list[Receipt] = []
client = Client(
    STACK["baseUrl"],
    read_private_key("MAKER_KEY", KEY),
    DOMAIN,
    on_receipt=receipts.append,
    # Retries what is `retryable`: after the time in Retry-After (`rate_limited`), else after a growing time.
    retry=Retry(attempts_max=6, on_retry=lambda error, seconds: print(f"again in {seconds:.1f} s: {error.code}")),
)

# `nonce(address)` of the contract: an order with another nonce counts as cancelled.
ask = [{"to": STACK["limitOrderProtocol"], "data": "0x70ae92d2" + client.maker[2:].rjust(64, "0")}, "latest"]
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": ask}).encode()
with urlopen(Request(STACK["rpcUrl"], body, {"Content-Type": "application/json"})) as answer:
    nonce = json.load(answer)["result"]

# Use the service's clock: the local one may be wrong.
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
# All orders are stored, or none. A try without an answer may have stored them: then the next try gets `duplicate`.
# The orders were signed just now, so `duplicate` can mean nothing else. For older orders, look at the list.
client.place_orders(orders, duplicate_counts_as_stored=True)

hashes = {order["orderHash"] for order in orders}
for _ in range(120):
    mine = [record for record in client.list_orders().records if record["orderHash"] in hashes]
    # If a list lacks an order for now, it says so (`read_lag`). A later list has it.
    if len(mine) == len(orders) and all(record["status"] != "VALIDATING" for record in mine):
        break
    time.sleep(0.5)
for record in mine:  # an INACTIVE order has a reason, and becomes ACTIVE as soon as the funds are there
    print("listed", record["orderHash"], record.get("reason", record["status"]))

# This costs no gas, and counts only for the service and its router. The contract's `cancelOrder` counts for everybody.
cancelled = client.cancel_orders(orders[:1])
receipt_signers = client.read_info()["receiptSigners"]
for receipt in receipts:
    if not verify_receipt(receipt, DOMAIN, receipt_signers):
        raise SystemExit("the service did not sign a receipt")
    print("receipt", receipt.position)
for item in cancelled:
    print("cancelled", item["orderHash"], item["status"])
