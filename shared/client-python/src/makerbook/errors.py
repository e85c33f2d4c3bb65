"""Why a call failed."""

from collections.abc import Mapping, Sequence
from typing import Any, cast


class MakerbookError(Exception):
    """A call that failed. Switch on `code`, the service's or one of these. `detail` is a sentence for a person.

    `unreachable`: no answer came, in time or at all. `unreadable`: what came is no answer of the service.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int = 0,
        retryable: bool = False,
        may_have_happened: bool | None = None,
        retry_after_seconds: float | None = None,
        problem: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        #: The HTTP status; 0 if no answer came.
        self.status = status
        #: Whether the same call can succeed later.
        self.retryable = retryable
        #: How long to wait before the next try, from `Retry-After`.
        self.retry_after_seconds = retry_after_seconds
        #: Whether this try or an earlier one may have done its work, although the call failed. Always False for a call
        #: that stores nothing.
        self.may_have_happened = code in ("unreachable", "unreadable") or status >= 500
        if may_have_happened is not None:
            self.may_have_happened = may_have_happened
        #: The body of the refusal, as it came: `counts` of `superseded`, `remainingMakingAmount` of
        #: `remaining_changed`.
        self.problem = problem

    @property
    def request_id(self) -> str | None:
        """The request's id in the service's logs."""
        return cast("str | None", self._told("requestId"))

    @property
    def errors(self) -> Sequence[Mapping[str, str]] | None:
        """The fields of the request that are wrong: `pointer` and `detail`."""
        return cast("Sequence[Mapping[str, str]] | None", self._told("errors"))

    @property
    def index(self) -> int | None:
        """The item of the request that failed, from 0."""
        return cast("int | None", self._told("index"))

    def _told(self, name: str) -> Any:
        return None if self.problem is None else self.problem.get(name)


class NoAnswer(Exception):
    """Raised by a driver: no whole answer came."""
