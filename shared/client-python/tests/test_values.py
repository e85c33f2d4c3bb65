"""Which values are taken, and which are refused by the name of their field."""

import unittest
from typing import Any

from fake_service import DOMAIN, KEY, OTHER, TOKEN

from makerbook import Client, Domain, WrongValue
from makerbook.values import (
    UNIX_MS,
    UNIX_SECONDS,
    UNIX_SECONDS_OR_OFF,
    read_bearer_key,
    read_bytes,
    read_expiry,
    read_private_key,
    read_service_url,
    read_uint256,
    read_whole,
)

MAX = 2**256 - 1


class Values(unittest.TestCase):
    def refused(self, field: str, read: Any, *given: Any) -> str:
        with self.assertRaises(WrongValue) as caught:
            read(*given)
        self.assertEqual(caught.exception.field, field)
        self.assertTrue(str(caught.exception).startswith(field + " "))
        return str(caught.exception)

    def test_a_uint256(self) -> None:
        for given in (1_000_000, "1000000", "0xF4240", "0x00f4240"):
            self.assertEqual(read_uint256("amount", given), 1_000_000)
        for most in (MAX, str(MAX), hex(MAX)):
            self.assertEqual(read_uint256("amount", most), MAX)
        wrong = [1.5, 1e6, float("nan"), -1, MAX + 1, str(MAX + 1), "", " 1", "1\n", "-1", "+1", "1.0", "1e6", "1_000"]
        for one in [*wrong, "0x", "0X1f", "f4240", "٣", "0x1" + "0" * 64, None, True, [], {}, b"1"]:
            self.assertIn("must be an int", self.refused("making.amount", read_uint256, "making.amount", one))

    def test_times(self) -> None:
        self.assertEqual(read_whole("cancel_at", "1700000000", UNIX_SECONDS), 1_700_000_000)
        self.assertEqual(read_whole("cancel_at", 0, UNIX_SECONDS_OR_OFF), 0)
        self.assertEqual(read_expiry("expires_at", MAX), MAX)
        for one in (1, 1_700_000_000_000, 1.7e9, True, None):
            self.refused("cancel_at", read_whole, "cancel_at", one, UNIX_SECONDS_OR_OFF)
        self.refused("until_ms", read_whole, "until_ms", 1_700_000_000, UNIX_MS)
        self.assertIn("is in milliseconds", self.refused("expires_at", read_expiry, "expires_at", 1_700_000_000_000))
        self.assertIn("before 2001", self.refused("expires_at", read_expiry, "expires_at", 3_600))

    def test_keys_are_not_shown(self) -> None:
        key = "0x" + "1f" * 32
        self.assertEqual(read_private_key("MAKER_KEY", key), key)
        for one in (
            key[:-1],
            key + "0",
            key + "\n",
            key + ",",
            key[2:],
            key.replace("f", "g"),
            "0x" + "0" * 64,
            int(key, 16),
        ):
            shown = self.refused("MAKER_KEY", read_private_key, "MAKER_KEY", one)
            self.assertEqual(shown, "MAKER_KEY is no private key: 0x and 64 hex digits")
        for read in (read_uint256, read_bytes, read_service_url):
            for wrong in (key + "z", int(key, 16) * 2**9):
                self.assertNotIn("1f1f", self.refused("field", read, "field", wrong))
        self.assertEqual(read_bearer_key("key", "swift 7f"), "swift 7f")
        for text in ("", " a", "a\n", "é7f7f", None):
            self.assertNotIn("7f7f", self.refused("READER_KEY", read_bearer_key, "READER_KEY", text))

    def test_the_url_of_a_service(self) -> None:
        self.assertEqual(read_service_url("base_url", "https://x.example/makers//"), "https://x.example/makers")
        self.assertEqual(read_service_url("base_url", "http://127.0.0.1:8080/"), "http://127.0.0.1:8080")
        for one in (
            "127.0.0.1:8080",
            "x.example",
            "",
            "ftp://x",
            "http://me:secret@x",
            "http://x?a=1",
            "http://x#a",
            "http://x:y",
        ):
            self.assertNotIn("secret", self.refused("base_url", read_service_url, "base_url", one))

    def test_a_client_names_the_field(self) -> None:
        client: Any = Client("http://x", KEY, DOMAIN)
        side: dict[str, Any] = {"token": TOKEN, "amount": 1}
        good: dict[str, Any] = {"making": side, "taking": {**side, "token": OTHER}, "expires_at": 1_900_000_000}
        order = client.sign_order(**good)
        for field, change in (
            ("making.amount", {"making": {**side, "amount": 0.1}}),
            ("making.token", {"making": {**side, "token": "0x" + "00" * 20}}),
            ("taking", {"taking": [OTHER, 1]}),
            ("nonce", {"nonce": 1.0}),
            ("salt", {"salt": "x"}),
            ("expires_at", {"expires_at": 1_900_000_000.5}),
        ):
            self.refused(field, lambda given: client.sign_order(**given), {**good, **change})
        for field, work in (
            ("orders", lambda: client.place_orders(order)),
            (
                "orders[1].order.salt",
                lambda: client.place_orders([order, {**order, "order": {**order["order"], "salt": 1.5}}]),
            ),
            ("orders[0].signature", lambda: client.place_orders([{**order, "signature": "12"}])),
            ("valid_until_ms", lambda: client.place_orders([order], valid_until_ms=1_700_000_000)),
            ("orders[0].salt", lambda: client.cancel_orders([{"orderHash": order["orderHash"]}])),
            ("wait_seconds", lambda: client.cancel_orders_and_wait([order], 61)),
            (
                "gone[0].remainingMakingAmount",
                lambda: client.replace_orders([{**order, "remainingMakingAmount": 1.0}], [order]),
            ),
            ("keys[0]", lambda: client.name_cancel_keys(["0x12"])),
            ("making", lambda: client.cancel_all(making="0x" + "00" * 20)),
            ("cancel_at", lambda: client.send_heartbeat(1_900_000_000_000)),
            ("window_seconds", lambda: client.set_fill_cap(token=TOKEN, amount=1, window_seconds=604_801)),
            ("order_hash", lambda: client.find_order("0x12")),
            ("service_name", lambda: Domain(1, "", TOKEN)),
            ("chain_id", lambda: Domain(0, "x", TOKEN)),
        ):
            self.refused(field, work)
