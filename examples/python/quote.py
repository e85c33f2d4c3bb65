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


def choose(offers, wanted, amount_of, is_dust, count_max):
    """As many offers as are enough; where they are too many, the one that gives least goes. With the number passed over."""
    chosen, seen = [], 0
    for offer in offers:
        if sum(map(amount_of, chosen)) >= wanted or count_max <= 0:
            break
        seen += 1
        if not is_dust(offer):
            chosen.append(offer)
        if len(chosen) > count_max:
            del chosen[min(range(len(chosen)), key=lambda at: (chosen[at][1], -at))]
    return chosen, seen, sum(map(amount_of, chosen)) >= wanted


def fill(offers, amount_in, amount_out, is_dust, orders_max):
    wanted, amount_of = (amount_in, lambda offer: taking(*offer)) if amount_out is None else (amount_out, lambda offer: offer[1])
    chosen, seen, is_enough = choose(offers, wanted, amount_of, is_dust, orders_max)
    fills, paid, got = [], 0, 0
    for entry, most in chosen:
        if amount_out is not None:
            making = min(most, amount_out - got)
        else:
            making = most if taking(entry, most) <= amount_in - paid else (amount_in - paid) // price(entry)
        if making > 0:
            fills.append((entry, making, taking(entry, making)))
            paid, got = paid + taking(entry, making), got + making
    rest = chosen[len(fills) :] + offers[seen:]
    return fills, paid, got, seen - len(chosen), rest, is_dust, is_enough


def quote(offers, amount_in=None, amount_out=None, backups=0, orders_max=200, gas_per_order=72_000, gas_price=None):
    """Fills and spare orders as (entry, making, taking), their sums, and how many better orders give too little.
    backups: percent of the amount that the spare orders cover. gas_price: what a million gas costs in the token that is got."""
    fill_without = lambda is_dust: fill(offers, amount_in, amount_out, is_dust, orders_max)
    if gas_price is not None:
        filled = fill_without(lambda offer: offer[1] * 1_000_000 < gas_per_order * gas_price)
    else:
        filled = fill_without(lambda offer: False)
        if filled[-1]:
            # Less than a thousandth of the quote, as long as the others are enough.
            fair = fill_without(lambda offer, got=filled[2]: offer[1] * 1000 < got)
            filled = fair if fair[-1] else filled
    fills, paid, got, passed_over, rest, is_dust, _ = filled
    spares, _, _ = choose(rest, -(-got * backups // 100), lambda offer: offer[1], is_dust, orders_max - len(fills))
    return fills, [(entry, most, taking(entry, most)) for entry, most in spares], paid, got, passed_over


def answer(vector):
    request = vector["request"]
    clocks = {clock["position"]["partition"]: clock["block"] for clock in vector["clocks"]}
    offers = list(executable(vector["entries"], clocks, request["pair"], request["nowSeconds"], request["staleSecondsMax"]))
    asked = {{"amountIn": "amount_in", "amountOut": "amount_out"}[name]: int(of) for name, of in request["asked"].items()}
    gas = {"gas_per_order": request["gasPerOrder"], "gas_price": request["amountOutPerMillionGas"] and int(request["amountOutPerMillionGas"])}
    fills, spares, paid, got, passed_over = quote(offers, **asked, **gas, backups=request["backups"], orders_max=request["ordersMax"])
    levels = [(f"{at.numerator}/{at.denominator}", *rest) for at, *rest in ladder(offers)]
    return {
        "ladder": [list(map(str, level)) for level in levels],
        "fills": [[entry["orderHash"], str(making), str(cost)] for entry, making, cost in fills],
        "spares": [[entry["orderHash"], str(making)] for entry, making, _ in spares],
        "amountIn": str(paid),
        "amountOut": str(got),
        "passedOver": passed_over,
    }


if __name__ == "__main__":
    print(json.dumps([answer(vector) for vector in json.load(sys.stdin)]))
