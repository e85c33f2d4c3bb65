"""Both clients against a service that fails as services fail."""

import inspect
import json
import traceback
import unittest
from typing import Any
from unittest.mock import patch

from fake_service import DOMAIN, FAST, KEY, LOST, NOW_MS, OTHER, TOKEN, Answer, Caller, FakeService, refuse

from makerbook import AsyncClient, Client, MakerbookError, PrivateKey, Receipt, Retry, TypedData, WrongValue, stream


class Case(unittest.TestCase):
    is_async = False

    def open(self, *answers: Answer, clock_ms: Any = lambda: NOW_MS, **options: Any) -> tuple[FakeService, Caller]:
        service = FakeService(*answers, clock_ms=clock_ms)
        self.addCleanup(service.close)
        caller = Caller(self.is_async, service.url, **options)
        self.addCleanup(caller.close)
        return service, caller

    def refused(self, caller: Caller, name: str, *args: Any, **options: Any) -> MakerbookError:
        with self.assertRaises(MakerbookError) as caught:
            caller.call(name, *args, **options)
        return caught.exception


class Calls(Case):
    def test_an_order_whose_answer_was_lost_is_posted_again_as_it_is_and_counts_as_stored(self) -> None:
        service, caller = self.open(LOST, refuse("duplicate", 400))
        order = caller.order()
        placed = caller.call("place_orders", [order], duplicate_counts_as_stored=True)
        self.assertEqual(placed, [{**order, "status": "VALIDATING"}])
        self.assertEqual(service.asked[0].body, service.asked[1].body)
        self.assertEqual(service.asked[0].json, [{"order": order["order"], "signature": order["signature"]}])

    def test_a_refusal_after_a_lost_answer_may_have_happened(self) -> None:
        for refusal, options in (
            (refuse("duplicate", 400), {}),
            (refuse("order_expired", 400), {"duplicate_counts_as_stored": True}),
        ):
            _, caller = self.open(LOST, refusal)
            self.assertTrue(self.refused(caller, "place_orders", [caller.order()], **options).may_have_happened)
            _, caller = self.open(refusal)
            error = self.refused(caller, "place_orders", [caller.order()], **options)
            self.assertEqual((error.may_have_happened, error.request_id), (False, "r-1"))

    def test_what_is_no_answer_of_the_service_leaves_the_outcome_open(self) -> None:
        gateway = Answer(parts=[b"<html>"], status=502)
        coded = Answer({"code": "101504", "type": "Status report"}, status=504)
        odd = Answer({})
        answers = ((gateway, "unreadable"), (coded, "unreadable"), (LOST, "unreachable"), (odd, "unreadable"))
        for answer, code in answers:
            _, caller = self.open(answer, retry=Retry(attempts_max=1))
            error = self.refused(caller, "place_orders", [caller.order()])
            self.assertEqual((error.code, error.may_have_happened), (code, True))
            self.assertEqual(error.retryable, answer is not odd)
        for answer in (gateway, LOST):
            _, caller = self.open(answer, retry=Retry(attempts_max=1))
            self.assertFalse(self.refused(caller, "list_orders").may_have_happened)

    def test_an_answer_that_is_cut_or_late_is_none(self) -> None:
        cut = Answer(parts=[b'[{"order'], is_cut=True)
        drips = Answer(parts=[b"[", b" ", b" ", b" ", b" ", b" ", b" ", b" ", b"]"], pause_seconds=0.1)
        for answer in (cut, drips):
            service, caller = self.open(answer, Answer([]), timeout_seconds=0.5)
            self.assertEqual(caller.call("place_orders", [caller.order()]), [])
            self.assertEqual(len(service.asked), 2)

    def test_it_waits_as_long_as_it_is_told(self) -> None:
        pauses: list[float] = []
        retry = Retry(
            attempts_max=3, pause_seconds=0.001, pause_seconds_max=0.02, on_retry=lambda _, s: pauses.append(s)
        )
        busy = refuse("rate_limited", 429, retryable=True, headers={"Retry-After": "60"})
        _, caller = self.open(busy, refuse("unavailable", 503, retryable=True), Answer([]), retry=retry)
        self.assertEqual(caller.call("list_orders").records, [])
        self.assertEqual(pauses[0], 0.02)
        self.assertLessEqual(pauses[1], 0.002)

    def test_each_try_of_a_list_is_signed_again_and_by_the_clock_of_the_service(self) -> None:
        clock = [NOW_MS]
        service, caller = self.open(
            LOST, Answer([], headers={"X-Read-Lag": "2"}), refuse("request_expired", 403), Answer([]),
            clock_ms=lambda: clock[0], now_ms=lambda: NOW_MS - 86_400_000,
        )  # fmt: skip
        self.assertEqual(
            caller.call("list_orders", order_salt=31, making=TOKEN, status=["ACTIVE", "INACTIVE"]), ([], 2)
        )
        clock[0] += 90_000
        caller.call("list_orders")
        queries = [asked.query for asked in service.asked]
        self.assertEqual(len({query["salt"] for query in queries}), 4)
        asked = {name: queries[0].get(name) for name in ("orderSalt", "making", "taking", "status")}
        self.assertEqual(asked, {"orderSalt": "0x1f", "making": TOKEN, "taking": None, "status": "ACTIVE,INACTIVE"})
        issued = [int(query["issuedAt"]) - NOW_MS // 1000 for query in queries]
        self.assertEqual(issued, [-1, -1, -1, 89])

    def test_while_query_is_away_ingress_tells_the_time(self) -> None:
        service, caller = self.open(Answer({}), Answer({}), now_ms=lambda: NOW_MS - 90_000)
        service.info = refuse("unavailable", 503, headers={"X-Server-Time": ""})
        caller.call("cancel_all")
        self.assertEqual([asked.method for asked in service.asked], ["OPTIONS", "POST"])
        self.assertEqual(service.asked[1].json["untilMs"], NOW_MS)

    def test_a_read_is_signed_again_once_where_the_network_had_sent_it_twice(self) -> None:
        replayed = refuse("request_replayed", 403)
        service, caller = self.open(replayed, Answer([]), replayed, replayed)
        self.assertEqual(caller.call("list_orders").records, [])
        self.assertEqual(self.refused(caller, "list_orders").code, "request_replayed")
        self.assertEqual(len({asked.query["salt"] for asked in service.asked}), 4)

    def test_messages_about_all_orders_are_each_newer_and_repeated_as_they_are(self) -> None:
        taken = Answer({"counts": None})
        service, caller = self.open(LOST, taken, taken, taken, taken, taken)
        caller.call("send_heartbeat", NOW_MS // 1000 + 5)
        caller.call("name_cancel_keys", [TOKEN])
        caller.call("set_fill_cap", token=TOKEN, amount="0x0010", window_seconds=60)
        caller.call("cancel_all", making=TOKEN)
        caller.call("name_cancel_keys", [], list_keys=[OTHER])
        bodies = [asked.json for asked in service.asked]
        self.assertEqual(service.asked[0].body, service.asked[1].body)
        self.assertEqual([body.get("issuedAtMs") for body in bodies[1:4]], [NOW_MS, NOW_MS + 1, NOW_MS + 2])
        self.assertEqual(bodies[3]["amount"], "0x10")
        self.assertEqual(
            {name: bodies[4][name] for name in ("making", "untilMs")}, {"making": TOKEN, "untilMs": NOW_MS}
        )
        self.assertNotIn("taking", bodies[4])
        self.assertNotIn("listKeys", bodies[2])
        self.assertEqual([bodies[5][name] for name in ("listKeys", "streamKeys", "historyKeys")], [[OTHER], [], []])

    def test_the_wrong_clock_of_one_instance_does_not_spoil_later_messages(self) -> None:
        clock = {"ms": NOW_MS + 600_000}
        taken = Answer({"counts": None})
        service, caller = self.open(taken, Answer([]), taken, taken, clock_ms=lambda: clock["ms"])
        caller.call("name_cancel_keys", [])
        clock["ms"] = NOW_MS
        caller.call("list_orders")
        caller.call("cancel_all")
        caller.call("name_cancel_keys", [])
        self.assertLessEqual(service.asked[2].json["untilMs"], NOW_MS + 60_000)
        self.assertLessEqual(service.asked[3].json["issuedAtMs"], NOW_MS + 5_000)

    def test_a_message_may_have_happened_if_any_try_may_have_sent_it(self) -> None:
        busy = refuse("rate_limited", 429, retryable=True)
        for answers, may_have_happened in (((LOST, busy, busy), True), ((busy, busy, busy), False)):
            _, caller = self.open(*answers, retry=Retry(attempts_max=3, pause_seconds=0.001))
            error = self.refused(caller, "cancel_all")
            self.assertEqual((error.code, error.may_have_happened), ("rate_limited", may_have_happened))

    def test_a_replacement_says_what_is_left(self) -> None:
        service, caller = self.open(
            LOST, refuse("duplicate", 400), refuse("remaining_changed", 409, remainingMakingAmount="0x1")
        )
        old, new = caller.order(), caller.order()
        stored = caller.call(
            "replace_orders", [{**old, "remainingMakingAmount": 3}], [new], duplicate_counts_as_stored=True
        )
        self.assertEqual(stored["cancelled"], [{"orderHash": old["orderHash"], "status": "CANCELLED"}])
        [cancel] = service.asked[0].json["cancel"]
        self.assertNotIn("expiresAt", cancel)
        self.assertEqual((cancel["remainingMakingAmount"], cancel["salt"]), ("0x3", old["order"]["salt"]))
        problem = self.refused(caller, "replace_orders", [old], [new]).problem
        assert problem is not None
        self.assertEqual(problem["remainingMakingAmount"], "0x1")

    def test_orders_are_cancelled_and_replaced_by_salts(self) -> None:
        gone = [{"orderHash": "0x" + "4e" * 32, "status": "CANCELLED"}]
        service, caller = self.open(Answer(gone), Answer({}))
        self.assertEqual(caller.call("cancel_orders", {"salts": [7, "0x1f"]}), gone)
        asked = service.asked[0].json
        self.assertEqual((asked["salts"], asked["untilMs"]), (["0x7", "0x1f"], NOW_MS))
        named = {"salts": [7], "untilMs": NOW_MS - 1, "remainingMakingAmount": 3}
        caller.call("replace_orders", named, [caller.order()])
        cancel = service.asked[1].json["cancel"]
        self.assertEqual((cancel["untilMs"], cancel["remainingMakingAmount"]), (NOW_MS - 1, "0x3"))

    def test_the_history_tells_what_a_replacement_by_salts_has_cancelled_whose_answer_was_lost(self) -> None:
        def entry(request_id: str, logged_at_ms: int, order_hash: str, happened: str = "REMOVED") -> dict[str, Any]:
            cause = {"kind": "request", "requestId": request_id}
            return {"orderHash": order_hash, "happened": happened, "loggedAtMs": logged_at_ms, "cause": cause}

        def page(cursor: str, *entries: dict[str, Any]) -> Answer:
            return Answer({"entries": entries, "nextCursor": cursor, "hasMore": True})

        service, caller = self.open(
            LOST, refuse("duplicate", 400),
            Answer({"timeline": [{"happened": "FILLED", "loggedAtMs": 3}, entry("own", NOW_MS, "0x1", "OPENED")]}),
            page("8", entry("other", NOW_MS, "0x2"), entry("own", NOW_MS, "0x3")),
            page("9", entry("own", NOW_MS, "0x4"), entry("own", NOW_MS + 1, "0x5")),
            LOST, refuse("duplicate", 400), refuse("gone", 410),
            LOST, refuse("duplicate", 400), Answer({"timeline": []}),
        )  # fmt: skip
        new = caller.order()
        stored = caller.call("replace_orders", {"salts": [7]}, [new], duplicate_counts_as_stored=True)
        self.assertEqual(stored["placed"], [{**new, "status": "VALIDATING"}])
        self.assertEqual(
            stored["cancelled"], [{"orderHash": order_hash, "status": "CANCELLED"} for order_hash in ("0x3", "0x4")]
        )
        asked = [[page.query.get(name) for name in ("happened", "fromMs", "cursor")] for page in service.asked[3:]]
        self.assertEqual(asked, [["REMOVED", str(NOW_MS), None], ["REMOVED", str(NOW_MS), "8"]])
        error = self.refused(caller, "replace_orders", {"salts": [7]}, [new], duplicate_counts_as_stored=True)
        self.assertEqual((error.code, error.may_have_happened), ("gone", True))
        stored = caller.call("replace_orders", {"salts": [7]}, [new], duplicate_counts_as_stored=True)
        self.assertEqual(stored["cancelled"], [])

    def test_cancellations_wait_for_the_feed_and_for_routers(self) -> None:
        headers = {"Preference-Applied": "wait=2", "X-Unseen-By": "a, b", "X-Log-Position": "3:7"}
        service, caller = self.open(Answer([], headers=headers), Answer([]))
        awaited = caller.call("cancel_orders_and_wait", [caller.order()], 2, by="router")
        self.assertEqual(awaited[1:], (True, False, ["a", "b"], "3:7"))
        self.assertEqual(service.asked[0].headers["prefer"], "wait=2; by=router")
        named = {"orderHash": "0x" + "4e" * 32, "salt": 7}
        caller.call("cancel_orders", [named, {**named, "expiresAt": "31"}])
        self.assertNotIn("prefer", service.asked[1].headers)
        until = [item.get("expiresAt") for asked in service.asked for item in asked.json]
        self.assertEqual(until, [hex(1_900_000_000), None, "0x1f"])

    def test_receipts_are_asked_for_and_handed_over(self) -> None:
        receipts: list[Receipt] = []
        service, caller = self.open(
            Answer(
                [{"orderHash": "0x01", "status": "CANCELLED"}], headers={"X-Receipt": "0x02", "X-Log-Position": "3:7"}
            ),
            Answer([]),
            on_receipt=receipts.append,
        )
        caller.call("cancel_orders_and_wait", [caller.order()], 2)
        caller.call("cancel_orders", [caller.order()])
        self.assertEqual([asked.headers["prefer"] for asked in service.asked], ["wait=2, receipt", "receipt"])
        self.assertEqual(receipts, [Receipt([], ["0x01"], [], "3:7", "0x02")])

    def test_a_receipt_that_cannot_be_kept_fails_the_call_which_was_done(self) -> None:
        def keep(_: Receipt) -> None:
            raise OSError("disk full")

        headers = {"X-Receipt": "0x02", "X-Log-Position": "3:7"}
        cancelled = Answer([{"orderHash": "0x01", "status": "CANCELLED"}], headers=headers)
        _, caller = self.open(cancelled, on_receipt=keep)
        error = self.refused(caller, "cancel_orders", [caller.order()])
        self.assertEqual((error.code, error.may_have_happened), ("receipt_not_kept", True))

    def test_a_patch_that_is_no_data_is_unreadable(self) -> None:
        _, caller = self.open(Answer(parts=[b"<html>"]))
        error = self.refused(caller, "patch_quote", data="0x12", min_output=7)
        self.assertEqual((error.code, error.may_have_happened), ("unreadable", False))

    def test_history_reports_quotes_and_the_account(self) -> None:
        page = {"entries": [], "nextCursor": "5", "hasMore": False}
        service, caller = self.open(Answer(page), Answer({"status": "FILLED"}), Answer(parts=[b"0x12"]), Answer(page))
        self.assertEqual(
            caller.call("read_history", happened=["FILLED"], order_salt=31, from_ms=NOW_MS, cursor="4"), page
        )
        self.assertEqual(caller.call("find_order", "0x" + "4E" * 32, at=9)["status"], "FILLED")
        self.assertEqual(caller.call("patch_quote", data="0x12", min_output="7"), "0x12")
        self.assertEqual(caller.call("read_account"), page)
        history, report, patch, account = service.asked
        self.assertEqual((account.path.split("/")[-1], len(account.query["salt"])), ("account", 66))
        rest = {name: history.query.get(name) for name in ("happened", "fromMs", "cursor", "toMs")}
        self.assertEqual(rest, {"happened": "FILLED", "fromMs": str(NOW_MS), "cursor": "4", "toMs": None})
        self.assertTrue(report.path.endswith("4e" * 32))
        self.assertEqual((report.query["at"], patch.json), ("9", {"data": "0x12", "minOutput": {"amount": "7"}}))

    def test_connect_takes_the_domain_from_the_service(self) -> None:
        service, caller = self.open()
        connected = type(caller.client).connect(service.url, KEY)
        client = caller._loop.run_until_complete(connected) if caller._loop else connected
        self.assertEqual(client._flows.domain, DOMAIN)


class CallsOnAnEventLoop(Calls):
    is_async = True


def _event(event: str, data: Any, event_id: str | None = None) -> bytes:
    head = "" if event_id is None else f"id: {event_id}\n"
    return f"{head}event: {event}\ndata: {json.dumps(data)}\n\n".encode()


def _sent(*parts: bytes, is_cut: bool = False) -> Answer:
    return Answer(parts=[b":\n\n", *parts], is_cut=is_cut)


SNAPSHOT, CHANGE = _event("snapshot", {"orders": []}, "5"), _event("change", {"happened": "OPENED"}, "6")


class Streams(Case):
    def setUp(self) -> None:
        pause = patch.object(stream, "_RECONNECT_SECONDS", 0.01)
        pause.start()
        self.addCleanup(pause.stop)

    def follow(self, count: int, *answers: Answer, **options: Any) -> tuple[list[Any], list[Any]]:
        service, caller = self.open(*answers)
        events = caller.take(count, **options)
        return [event.get("id") for event in events], [asked.headers.get("last-event-id") for asked in service.asked]

    def test_it_goes_on_behind_the_last_event_that_came_whole(self) -> None:
        for first in (
            _sent(SNAPSHOT, CHANGE[:-9], is_cut=True),
            _sent(SNAPSHOT, _event("end", {"reason": "slow"})),
            _sent(SNAPSHOT[:20], SNAPSHOT[20:], b"id: 7\nevent: change\ndata: {no\n\n"),
        ):
            self.assertEqual(self.follow(2, first, _sent(CHANGE)), (["5", "6"], [None, "5"]))

    def test_it_begins_anew_where_the_service_keeps_no_more(self) -> None:
        gone = _sent(SNAPSHOT, _event("end", {"reason": "gone"}))
        self.assertEqual(self.follow(2, gone, _sent(SNAPSHOT)), (["5", "5"], [None, None]))
        refused = refuse("gone", 410)
        self.assertEqual(self.follow(1, refused, _sent(SNAPSHOT), last_event_id="4"), (["5"], ["4", None]))

    def test_a_refusal_for_good_ends_it(self) -> None:
        with self.assertRaises(MakerbookError):
            self.follow(1, refuse("maker_not_whitelisted", 403))
        for wrong in ("", "5\n", "é", 5):
            with self.assertRaises(WrongValue):
                self.follow(1, last_event_id=wrong)


class StreamsOnAnEventLoop(Streams):
    is_async = True


class Clients(unittest.TestCase):
    def test_both_have_the_same_methods(self) -> None:
        named = [
            {name: of for name, of in vars(kind).items() if not name.startswith("_")} for kind in (Client, AsyncClient)
        ]
        self.assertEqual(*map(set, named))
        for name in named[0]:
            if callable(named[0][name]):
                one, other = (inspect.signature(methods[name]) for methods in named)
                self.assertEqual(one.parameters, other.parameters, name)

    def test_no_error_or_text_shows_a_key(self) -> None:
        for bad in (KEY[:-1], KEY + "\n", KEY[2:], "0x" + "f" * 64, int(KEY, 16)):
            with self.assertRaises(WrongValue) as caught:
                Client("http://x", bad, DOMAIN)  # type: ignore[arg-type]
            shown = "".join(traceback.format_exception(caught.exception))
            self.assertNotIn("0707", shown)
            self.assertNotIn(str(int(KEY, 16))[:9], shown)
        client = Client("http://x", KEY, DOMAIN)
        for text in (repr(client), repr(PrivateKey(KEY)), str(vars(client)), str(vars(client._flows))):
            self.assertNotIn("070707", text)

    def test_another_signer_gets_typed_data_that_wallets_know(self) -> None:
        class Remote:
            address = PrivateKey(KEY).address
            signed: list[TypedData] = []  # noqa: RUF012

            def sign(self, data: TypedData) -> str:
                self.signed.append(data)
                return PrivateKey(KEY).sign(data)

        client = Client("http://x", Remote(), DOMAIN, retry=FAST)
        order = client.sign_order(
            making={"token": TOKEN, "amount": 1}, taking={"token": OTHER, "amount": 1}, expires_at=2**31
        )
        client._flows.sign_cancellations("orders", [order])
        told = Remote.signed[1].as_dict()
        self.assertIn({"name": "salt", "type": "bytes32"}, told["types"]["EIP712Domain"])
        self.assertEqual(told["primaryType"], "OrderCancellationRequest")

    def test_options_that_are_none_are_refused(self) -> None:
        with self.assertRaises(TypeError):
            Client("http://x", KEY, DOMAIN, retries=5)  # type: ignore[call-arg]
        for wrong in (0, -1, 3601, True, "5"):
            with self.assertRaises(WrongValue):
                Client("http://x", KEY, DOMAIN, timeout_seconds=wrong)  # type: ignore[arg-type]
