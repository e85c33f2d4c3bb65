"""A router's reader of limit-orders.book.v1 in Python: holds the open orders, and prints which can be filled, how, and
when not to use the feed. Until Ctrl-C: python3 examples/python/router.py"""

import json
import os
import time

from makerbook.book import Book, read_over_kafka

STALE_SECONDS_MAX = 5
ZERO_ADDRESS = "0x" + "0" * 40


def report(entry):
    named = f"{entry['status']} {entry['orderHash']}"
    if entry["status"] != "ACTIVE" or time.time() >= entry["routableUntil"]:
        return print(named, flush=True)
    order, making = entry["order"], int(entry["remainingMakingAmount"], 16)
    # Fill in full or in part. The contract rounds up what the taker pays. Orders of one maker may share its funds:
    # `quote` of makerbook.book takes that into account.
    taking = -(-making * int(order["taking"]["amount"], 16) // int(order["making"]["amount"], 16))
    taker = "anyone" if order["permittedTaker"] == ZERO_ADDRESS else order["permittedTaker"]
    print(f"{named} fillOrder(order, signature, {making}, {taking}) by {taker}", flush=True)


def follow(batches):
    book, was_stale = Book(), None
    for batch in batches:
        was_whole, changes = book.is_whole, book.apply_batch(batch)
        if not book.is_whole:
            continue
        if not was_whole:
            print(f"snapshot: {len(book.entries)} open orders", flush=True)
        for entry in [] if was_whole else book.entries.values():
            report(entry)
        for change in changes if was_whole else ():
            if change.kind == "removed":
                print("GONE", change.order_hash, change.removal, flush=True)
            elif change.kind == "entry":
                report(change.entry)
        # The oldest clock counts. It moves with each block, even if no order changes. If it stops, the feed is dead.
        age = time.time() - (book.stale_since() or 0)
        if was_stale != (age > STALE_SECONDS_MAX):
            was_stale = age > STALE_SECONDS_MAX
            print(f"STALE: the last block is {age:.0f} s old, fill nothing" if was_stale else "FRESH", flush=True)


brokers = os.environ.get("KAFKA_BROKERS")
if brokers is None:
    stack_file = os.environ.get("MAKERBOOK_DATA", ".local") + "/stack.json"
    if not os.path.exists(stack_file):
        raise SystemExit(f"no stack runs here ({stack_file} is missing): start it with `npm start`")
    with open(stack_file, encoding="utf-8") as file:
        brokers = json.load(file)["kafkaBrokers"]
try:
    topic = os.environ.get("TOPIC_PREFIX", "") + "limit-orders.book.v1"
    follow(read_over_kafka({"bootstrap.servers": brokers}, topic=topic))
except KeyboardInterrupt:
    pass
