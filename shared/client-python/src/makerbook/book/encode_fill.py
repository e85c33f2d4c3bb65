"""Encodes the call of an `OrderFiller` that fills a quote."""

from typing import NamedTuple

from .quote_orders import Fill, Quote

# `fill` of OrderFiller.sol: its selector, and how many words its head and the head of a try have.
_SELECTOR = "0xae325c02"
_HEAD_WORDS = 5
_TRY_WORDS = 11
_MAX = 2**256 - 1
_GAS_PER_FILL = 300_000
# Gas that the limit must allow, before the refund at the end. The caller pays less.
_GAS_OF_CALL = 200_000
_GAS_OF_TRY = 100_000
# Gas that a transaction takes besides its fills, and for each spare order that it does not need.
_GAS_OF_TRANSACTION = 125_000
_GAS_OF_SPARE = 7_000


class FillFault(NamedTuple):
    """Why no transaction can fill the quote, and the name of the value at fault."""

    name: str
    detail: str


def find_fault(quote: Quote, *, limit: int | None = None, gas_per_fill: int = _GAS_PER_FILL) -> FillFault | None:
    """Tells why the quote cannot be filled within the limits; None if it can.

    Judges the amounts of a quote without fills too.
    """
    given = {"amount_in": quote.asked_amount_in, "amount_out": quote.asked_amount_out, "limit": limit}
    for name, value in {**given, "gas_per_fill": gas_per_fill}.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX):
            return FillFault(name, "must be a whole number from 0 to 2^256 - 1")
    if quote.amount_in > _MAX:
        return FillFault("amount_out", "costs more than 2^256 - 1 of token_in: ask for less")
    if quote.amount_out > _MAX:
        return FillFault("amount_in", "buys more than 2^256 - 1 of token_out: ask for less")
    if limit is not None and quote.asked_amount_in is not None and quote.amount_out < limit:
        return FillFault("limit", f"cannot be met: the orders give {quote.amount_out} of token_out")
    if limit is not None and quote.asked_amount_out is not None and quote.amount_in > limit:
        return FillFault("limit", f"cannot be met: the orders cost {quote.amount_in} of token_in")
    return None


def fill_calldata(quote: Quote, *, limit: int | None = None, gas_per_fill: int = _GAS_PER_FILL) -> str:
    """Returns calldata that fills the quote, and tries the spare orders if a fill fails. Send it to be mined at once.

    `limit`: the worst that you accept. It is the least amount out if you asked with `amount_in`, else the most amount
    in. Default: the quote's own amount. Spare orders then help only if their price is as good. `gas_per_fill`: the
    most gas of one fill, failed or not. Raises ValueError without fills, and if `find_fault` finds a fault.
    """
    if not quote.fills:
        raise ValueError("the quote fills nothing")
    fault = find_fault(quote, limit=limit, gas_per_fill=gas_per_fill)
    if fault is not None:
        raise ValueError(f"{fault.name} {fault.detail}")
    if quote.asked_amount_in is not None:
        amounts = [quote.asked_amount_in, _MAX, quote.amount_out if limit is None else limit]
    else:
        amounts = [quote.amount_in if limit is None else limit, quote.asked_amount_out or 0, quote.amount_out]
    tries = [_encode_try(fill) for fill in [*quote.fills, *quote.spares]]
    starts = [len(tries) * 32 + sum(map(len, tries[:index])) // 2 for index in range(len(tries))]
    words = [_HEAD_WORDS * 32, *amounts, gas_per_fill, len(tries), *starts]
    return _SELECTOR + "".join(map(_word, words)) + "".join(tries)


def gas_limit_of(quote: Quote) -> int:
    """A gas limit that lets the call try every spare order, for tokens like OpenZeppelin's; 0 without fills."""
    if not quote.fills:
        return 0
    # Only contract wallets have signatures of other lengths. They may use all the gas that a fill gets.
    lengths = [(len(fill.entry["signature"]) - 2) // 2 for fill in [*quote.fills, *quote.spares]]
    return _GAS_OF_CALL + sum(_GAS_OF_TRY if length in (64, 65) else _GAS_PER_FILL for length in lengths)


def gas_used_of(quote: Quote) -> int:
    """About the gas that the call takes if every fill works, for tokens like OpenZeppelin's; 0 without fills."""
    return _GAS_OF_TRANSACTION + quote.gas + len(quote.spares) * _GAS_OF_SPARE if quote.fills else 0


def net_amount_out(quote: Quote, amount_out_per_million_gas: int) -> int:
    """`amount_out` minus the cost of `gas_used_of`: below zero if the gas costs more.

    `amount_out_per_million_gas`: the cost of a million gas, in the smallest unit of token_out.
    """
    return quote.amount_out - -(-gas_used_of(quote) * amount_out_per_million_gas // 1_000_000)


def _encode_try(fill: Fill) -> str:
    order, signature = fill.entry["order"], fill.entry["signature"][2:]
    making, taking = order["making"], order["taking"]
    fields = [*(order[name] for name in ("salt", "nonce", "expiresAt")), making["token"], making["amount"]]
    fields += [taking["token"], taking["amount"], order["maker"], order["permittedTaker"]]
    words = [*(int(field, 16) for field in fields), _TRY_WORDS * 32, fill.executable, len(signature) // 2]
    return "".join(map(_word, words)) + str(signature).ljust(-(-len(signature) // 64) * 64, "0")


def _word(value: int) -> str:
    return f"{value:064x}"
