"""A router's reader of limit-orders.book.v1 in Python: holds the open orders, and prints which can be filled, how, and
when the feed is not to be used. pip install confluent-kafka; until Ctrl-C: python3 examples/python/router.py"""

import hashlib
import json
import os
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

STALE_SECONDS_MAX = 5
ZERO_ADDRESS = "0x" + "0" * 40
TOPIC = os.environ.get("TOPIC_PREFIX", "") + "limit-orders.book.v1"

orders = {}  # by hash
clocks = {}  # by partition: the time of the block up to which it is complete
books = {}  # by partition: how many orders it holds, and the sum of their hashes


def report(entry):
    named = f"{entry['status']} {entry['orderHash']}"
    if entry["status"] != "ACTIVE" or time.time() >= entry["routableUntil"]:
        return print(named, flush=True)
    order, making = entry["order"], int(entry["remainingMakingAmount"], 16)
    # In full or in part: the contract rounds up what the taker pays. Two orders of a maker may draw on the same funds.
    taking = -(-making * int(order["taking"]["amount"], 16) // int(order["making"]["amount"], 16))
    taker = "anyone" if order["permittedTaker"] == ZERO_ADDRESS else order["permittedTaker"]
    print(f"{named} fillOrder(order, signature, {making}, {taking}) by {taker}", flush=True)


def count(partition, entry, sign):
    text = f"{entry['orderHash']}:{entry['remainingMakingAmount']}:{entry['status']}"
    entries, total = books.get(partition, (0, 0))
    total += sign * int(hashlib.sha256(text.encode()).hexdigest(), 16)
    books[partition] = (entries + sign, total % 2**256)


def apply(message, is_complete):
    key, partition = message.key().decode(), message.partition()
    if key.startswith("clock:"):
        clock = json.loads(message.value())
        clocks[partition] = clock["block"]["timestamp"]
        book = clock.get("book")
        if is_complete and book and (book["entries"], int(book["hash"], 16)) != books.get(partition, (0, 0)):
            raise SystemExit(f"partition {partition} is not what its clock says: a record was lost, start again")
        return
    if key in orders:
        count(partition, orders.pop(key), -1)
    if message.value() is not None:
        orders[key] = json.loads(message.value())
        count(partition, orders[key], 1)
        if is_complete:
            report(orders[key])
    elif is_complete:
        print("GONE", key, dict(message.headers())["removal"].decode(), flush=True)


def follow(consumer):
    """The topic is compacted: from its beginning it is the open orders and what changed lately. No offset is kept."""
    partitions = consumer.list_topics(TOPIC, timeout=30).topics[TOPIC].partitions
    consumer.assign([TopicPartition(TOPIC, partition, OFFSET_BEGINNING) for partition in partitions])
    unread = set(partitions)
    was_stale = None
    while True:
        for message in consumer.consume(500, timeout=0.5):
            if message.error() is None:
                apply(message, is_complete=not unread)
            elif message.error().code() != KafkaError._PARTITION_EOF:
                raise KafkaException(message.error())
            elif unread:
                unread.discard(message.partition())
                if not unread:
                    print(f"snapshot: {len(orders)} open orders", flush=True)
                    for entry in orders.values():
                        report(entry)
        # The oldest clock counts. It moves with each block, also when no order changes, unless the feed is dead.
        age = time.time() - (0 if len(clocks) < len(partitions) else min(clocks.values()))
        if not unread and was_stale != (age > STALE_SECONDS_MAX):
            was_stale = age > STALE_SECONDS_MAX
            print(f"STALE: the last block is {age:.0f} s old, fill nothing" if was_stale else "FRESH", flush=True)


brokers = os.environ.get("KAFKA_BROKERS")
if brokers is None:
    stack_file = os.environ.get("MAKERBOOK_DATA", ".local") + "/stack.json"
    if not os.path.exists(stack_file):
        raise SystemExit(f"no stack runs here ({stack_file} is missing): start it with `npm start`")
    with open(stack_file, encoding="utf-8") as file:
        brokers = json.load(file)["kafkaBrokers"]
# Without read_committed, records of a transaction that was given up would be seen. No group: nothing is committed.
settings = {"bootstrap.servers": brokers, "isolation.level": "read_committed", "enable.partition.eof": True}
try:
    follow(Consumer({**settings, "group.id": "unused", "enable.auto.commit": False}))
except KeyboardInterrupt:
    pass
