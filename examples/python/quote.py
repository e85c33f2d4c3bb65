"""What a router asks of its book in Python: the ladder of a pair, and a quote that the contract fills to the wei. Pure
functions over entries of limit-orders.book.v1 and clocks by partition; shared/book does it without sorting each time.
As a command it answers the vectors: python3 examples/python/quote.py < shared/book/vectors.json"""

import json
import sys
from fractions import Fraction
from itertools import groupby

ZERO_ADDRESS = "0x" + "0" * 40


def number(text):
    return int(text, 16)


def price(entry):
    return Fraction(number(entry["order"]["taking"]["amount"]), number(entry["order"]["making"]["amount"]))


def taking(entry, making):
    """As the contract: rounded up, each fill by itself."""
    return -(-making * number(entry["order"]["taking"]["amount"]) // number(entry["order"]["making"]["amount"]))


def executable(entries, clocks, pair, now, stale_max):
    """Entries with the amount that can be filled, the best first: orders of a maker share what it has of the token."""
    selling = [entry for entry in entries if entry["order"]["making"]["token"] == pair["tokenOut"]]
    left = {}
    for entry in sorted((e for e in selling if "funding" in e), key=lambda e: e["funding"]["block"]):
        left[entry["order"]["maker"]] = min(number(entry["funding"]["balance"]), number(entry["funding"]["allowance"]))
    for entry in sorted(selling, key=lambda e: (price(e), e["acceptedAtMs"], e["orderHash"])):
        order, clock = entry["order"], clocks.get(entry["position"]["partition"])
        if entry["status"] != "ACTIVE" or order["taking"]["token"] != pair["tokenIn"] or now >= entry["routableUntil"]:
            continue
        if order["permittedTaker"] != ZERO_ADDRESS or clock is None or now - clock["timestamp"] > stale_max:
            continue
        amount = min(number(entry["remainingMakingAmount"]), left[order["maker"]])
        left[order["maker"]] -= amount
        if amount > 0:
            yield entry, amount


def ladder(offers):
    """Levels: price, amount in, amount out, orders."""
    for at, group in groupby(offers, key=lambda offer: price(offer[0])):
        level = list(group)
        yield at, sum(taking(*offer) for offer in level), sum(amount for _, amount in level), len(level)


def quote(offers, amount_in=None, amount_out=None, backups=0):
    """Fills and spare orders as (entry, making, taking). backups: percent of the amount that the spare orders cover."""
    fills, spares, paid, got, spare = [], [], 0, 0, 0
    for entry, most in offers:
        if amount_out is not None:
            making = min(most, amount_out - got)
        else:
            making = most if taking(entry, most) <= amount_in - paid else (amount_in - paid) // price(entry)
        if making > 0:
            fills.append((entry, making, taking(entry, making)))
            paid, got = paid + taking(entry, making), got + making
            continue
        if spare * 100 >= got * backups:
            break
        spares.append((entry, most, taking(entry, most)))
        spare += most
    return fills, spares, paid, got


def answer(vector):
    request = vector["request"]
    clocks = {clock["position"]["partition"]: clock["block"] for clock in vector["clocks"]}
    offers = list(executable(vector["entries"], clocks, request["pair"], request["nowSeconds"], request["staleSecondsMax"]))
    asked = {{"amountIn": "amount_in", "amountOut": "amount_out"}[name]: int(of) for name, of in request["asked"].items()}
    fills, spares, paid, got = quote(offers, **asked, backups=request["backups"])
    levels = [(f"{at.numerator}/{at.denominator}", *rest) for at, *rest in ladder(offers)]
    return {
        "ladder": [list(map(str, level)) for level in levels],
        "fills": [[entry["orderHash"], str(making), str(cost)] for entry, making, cost in fills],
        "spares": [[entry["orderHash"], str(making)] for entry, making, _ in spares],
        "amountIn": str(paid),
        "amountOut": str(got),
    }


if __name__ == "__main__":
    print(json.dumps([answer(vector) for vector in json.load(sys.stdin)]))
