"""The vectors that the TypeScript client is tested with too."""

import json
import unittest
from pathlib import Path
from typing import Any

from makerbook import Domain, PrivateKey, Receipt, read_receipt, verify_receipt
from makerbook.book import Book, BookChange, FeedRecord, RankedOrders, ladder, net_amount_out, quote
from makerbook.keys import recover_address
from makerbook.typed_data import STRUCTS, TypedData

ROOT = Path(__file__).parents[3]
VECTORS = json.loads((ROOT / "contracts/http/vectors.json").read_text())
DOMAIN = Domain(VECTORS["domain"]["chainId"], "Makerbook", VECTORS["domain"]["verifyingContract"])
MAKER = PrivateKey(VECTORS["keys"]["maker"]["privateKey"])
KINDS = [kind for kind, items in VECTORS.items() if isinstance(items, list) and kind != "receipts"]


class Signatures(unittest.TestCase):
    def test_the_digest_of_each_vector(self) -> None:
        for kind in [*KINDS, "receipts"]:
            for vector in VECTORS[kind]:
                given = vector["typedData"]
                types = {name: [(f["type"], f["name"]) for f in fields] for name, fields in given["types"].items()}
                data = TypedData(types, given["primaryType"], given["domain"], given["message"])
                self.assertEqual(data.digest.hex(), vector["digest"][2:], (kind, vector["title"]))

    def test_what_the_client_signs_is_the_first_vector_of_each_kind(self) -> None:
        for kind in KINDS:
            vector = VECTORS[kind][0]
            given = vector["typedData"]
            salt = given["domain"].get("salt")
            salt_type = next((f["type"] for f in given["types"]["EIP712Domain"] if f["name"] == "salt"), "bytes32")
            data = DOMAIN.typed(given["primaryType"], given["message"], salt, salt_type)
            self.assertEqual(MAKER.sign(data), vector["request"]["signature"], kind)
            self.assertEqual([field["name"] for field in given["types"][given["primaryType"]]],
                             [name for _, name in STRUCTS[given["primaryType"]]])  # fmt: skip

    def test_every_signature_of_a_key_recovers_to_the_maker_where_it_is_taken(self) -> None:
        for kind in KINDS:
            for vector in VECTORS[kind]:
                if "maker" not in vector["expected"]:
                    continue
                signer = recover_address(bytes.fromhex(vector["digest"][2:]), vector["request"]["signature"])
                self.assertEqual(signer, vector["expected"]["maker"], (kind, vector["title"]))

    def test_receipts(self) -> None:
        signers = ["0x" + "ab" * 20, VECTORS["keys"]["receiptSigner"]["address"].upper().replace("0X", "0x")]
        for vector in VECTORS["receipts"]:
            with self.subTest(vector["title"]):
                headers = {name.lower(): value for name, value in vector["answer"].items() if name != "body"}
                receipt = read_receipt(json.dumps(vector["answer"]["body"]), headers, DOMAIN)
                assert receipt is not None
                self.assertEqual(verify_receipt(receipt, DOMAIN, signers), vector["expected"]["isValid"])
                self.assertFalse(verify_receipt(receipt, DOMAIN, signers[:1]))
                short = Receipt(receipt.placed, receipt.cancelled, receipt.messages, receipt.position, "0x12")
                self.assertFalse(verify_receipt(short, DOMAIN, signers))


class Quotes(unittest.TestCase):
    def test_ladders_and_quotes_of_each_vector(self) -> None:
        for vector in json.loads((ROOT / "shared/book/vectors.json").read_text()):
            with self.subTest(vector["title"]):
                self.assertEqual(_answer(vector), {"ladder": vector["ladder"], "quote": vector["quote"]})


def _answer(vector: dict[str, Any]) -> dict[str, Any]:
    orders, asked = RankedOrders(), vector["request"]
    orders.apply(*(BookChange("clock", clock=clock) for clock in vector["clocks"]))
    orders.apply(*(BookChange("entry", entry=entry) for entry in vector["entries"]))
    pair = (asked["pair"]["tokenIn"], asked["pair"]["tokenOut"])
    when = {"now_seconds": asked["nowSeconds"], "stale_seconds_max": asked["staleSecondsMax"]}
    costs = {"gas_per_order": asked["gasPerOrder"]}
    gas_price = asked["amountOutPerMillionGas"]
    quoted = quote(
        orders,
        pair,
        **{{"amountIn": "amount_in", "amountOut": "amount_out"}[name]: int(of) for name, of in asked["asked"].items()},
        **when,
        **costs,
        backups=asked["backups"],
        orders_max=asked["ordersMax"],
        amount_out_per_million_gas=None if gas_price is None else int(gas_price),
    )
    levels = [
        {
            "price": {"numerator": str(level.price.numerator), "denominator": str(level.price.denominator)},
            "amountIn": str(level.amount_in),
            "amountOut": str(level.amount_out),
            "orders": level.orders,
            "gas": level.gas,
        }
        for level in ladder(orders, pair, **when, **costs)
    ]
    fills = [
        {"orderHash": f.entry["orderHash"], "makingAmount": str(f.making_amount), "takingAmount": str(f.taking_amount)}
        for f in quoted.fills
    ]
    told = {
        "fills": fills,
        "spares": [{"orderHash": f.entry["orderHash"], "makingAmount": str(f.making_amount)} for f in quoted.spares],
        "amountIn": str(quoted.amount_in),
        "amountOut": str(quoted.amount_out),
        "gas": quoted.gas,
        "passedOver": quoted.passed_over,
        "netAmountOut": str(net_amount_out(quoted, int(gas_price or 0))),
        "block": None if quoted.block is None else quoted.block["number"],
    }
    return {"ladder": levels, "quote": told}


class Messages(unittest.TestCase):
    def test_the_book_takes_each_golden_message_of_its_topic(self) -> None:
        taken = []
        for file in sorted((ROOT / "contracts/events/golden").glob("Book*.json")):
            told = json.loads(file.read_text())
            if told["topic"] != "book":
                continue
            headers = {**told["headers"], "ce_id": "3:50:0"}
            taken.append(Book().apply(FeedRecord(3, told["key"], told["value"], headers)).kind)
        self.assertEqual(sorted(set(taken)), ["clock", "entry", "removed"])
