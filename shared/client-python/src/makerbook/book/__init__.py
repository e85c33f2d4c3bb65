"""The open orders of `limit-orders.book.v1`, the feed for routers: read, verified, ranked and quoted. See README.md."""

from .book import Book, BookChange, BookHash, FeedBatch, FeedRecord, FeedViolation, ack_of
from .encode_fill import FillFault, fill_calldata, find_fault, gas_limit_of, gas_used_of, net_amount_out
from .quote_orders import Fill, Level, Quote, ladder, quote
from .rank_orders import Executable, Pair, RankedOrders
from .read_fills import BookFill, follow_fills, follow_fills_async, read_fills, read_fills_async
from .read_over_http import FeedLost, read_over_http, read_over_http_async
from .read_over_kafka import read_over_kafka

__all__ = [
    "Book",
    "BookChange",
    "BookFill",
    "BookHash",
    "Executable",
    "FeedBatch",
    "FeedLost",
    "FeedRecord",
    "FeedViolation",
    "Fill",
    "FillFault",
    "Level",
    "Pair",
    "Quote",
    "RankedOrders",
    "ack_of",
    "fill_calldata",
    "find_fault",
    "follow_fills",
    "follow_fills_async",
    "gas_limit_of",
    "gas_used_of",
    "ladder",
    "net_amount_out",
    "quote",
    "read_fills",
    "read_fills_async",
    "read_over_http",
    "read_over_http_async",
    "read_over_kafka",
]
