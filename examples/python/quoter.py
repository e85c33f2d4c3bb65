"""A market maker's bot in Python: keeps ten orders in the book and replaces all of them every second. If the bot
dies or loses its network, a dead-man's switch cancels them. Runs until Ctrl-C: python3 examples/python/quoter.py"""

import asyncio
import os

from makerbook import AsyncClient, MakerbookError, Retry, read_private_key

URL = os.environ.get("MAKERBOOK_URL", "http://127.0.0.1:8080")
# Account 1 of anvil: everyone has its key. `npm start` puts it on the whitelist, with tokens and their approval.
KEY = os.environ.get("MAKER_KEY", "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d")
QUOTES, SWITCH_SECONDS = 10, 5


async def move(client: AsyncClient, sell: str, want: str, price: int) -> int:
    """Replaces the open orders by new ones, all or nothing. @returns how many were open"""
    open_orders, read_lag = await client.list_orders()  # including those of an earlier run
    if read_lag:
        raise MakerbookError("behind", "the list lacks something, which would stay beside the new orders")
    # An order with another nonce than its maker's on the chain counts as cancelled.
    nonce = (await client.read_account())["nonce"] or 0
    now_ms = await client.server_time_ms()  # use the service's clock: the local one may be wrong
    new_orders = [
        client.sign_order(
            making={"token": sell, "amount": 1_000_000},
            taking={"token": want, "amount": price + level * 10**12},
            expires_at=now_ms // 1000 + 300,
            nonce=nonce,
        )
        for level in range(QUOTES)
    ]
    # They were signed just now, so a duplicate means that an earlier try has stored them.
    until_ms = now_ms + 10_000
    if open_orders:
        await client.replace_orders(open_orders, new_orders, valid_until_ms=until_ms, duplicate_counts_as_stored=True)
    else:
        await client.place_orders(new_orders, valid_until_ms=until_ms, duplicate_counts_as_stored=True)
    return len(open_orders)


async def beat(client: AsyncClient) -> None:
    """Unless the next heartbeat comes in time, the service cancels all orders."""
    while True:
        try:
            cancel_at = await client.server_time_ms() // 1000 + SWITCH_SECONDS
            await asyncio.wait_for(client.send_heartbeat(cancel_at), 1.5)  # after that, send a newer one instead
        except (MakerbookError, asyncio.TimeoutError) as error:
            print("no heartbeat:", error, flush=True)
        await asyncio.sleep(1)


async def take_back(client: AsyncClient) -> None:
    try:
        await client.cancel_all()
    except MakerbookError as error:
        print("not taken back:", error, flush=True)


async def main() -> None:
    key = read_private_key("MAKER_KEY", KEY)
    async with await AsyncClient.connect(URL, key, retry=Retry(attempts_max=4)) as client:
        sell, want = (token["address"] for token in (await client.read_info())["tokens"][:2])
        beating = asyncio.create_task(beat(client))
        try:
            for moves in range(10**9):
                try:
                    print("moved", await move(client, sell, want, 400 * 10**12 + moves), flush=True)
                except MakerbookError as error:
                    print(error, flush=True)
                    # If one was filled, the next list tells. Otherwise cancel prices that cannot be moved.
                    if error.may_have_happened or error.code not in ("not_found", "remaining_changed", "behind"):
                        await take_back(client)
                await asyncio.sleep(1)
        finally:
            beating.cancel()
            await client.cancel_all()


try:
    asyncio.run(main())
except KeyboardInterrupt:
    pass
