"""Makes many calls, and writes as a line of JSON how each ended. Run by the server's tests, which compare the books.

Arguments: the address, the client (``sync`` or ``async``), then a file with the calls, a line of JSON each.
"""

import asyncio
import collections
import json
import sys
import threading
import traceback
from typing import Any, Dict, List

import quarry

WORKERS = 24


def charged_rows(rows: List[Any]) -> List[Dict[str, Any]]:
    return [{"id": getattr(it, "id", None), "status": getattr(it, "error", it.status)} for it in rows]


def ended(call: Dict[str, Any], outcome: Dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"call": call["call"], **outcome}) + "\n")


def failed(error: quarry.QuarryError, received: Dict[int, Any]) -> Dict[str, Any]:
    return {
        "end": error.code,
        "charged": error.charged,
        "key": error.idempotency_key,
        "rows": {index: charged_rows([row])[0] for index, row in received.items()},
        # The error as it is: nothing else than the classes of the package may end a call.
        "is_typed": type(error) in vars(quarry).values(),
    }


def options_of(call: Dict[str, Any]) -> Dict[str, Any]:
    return {name: call[name] for name in ("timeout", "idempotency_key") if call.get(name) is not None}


def answered(rows: Dict[int, Any], meta: quarry.Meta, credits: Any) -> Dict[str, Any]:
    return {
        "end": "answer",
        "rows": {index: charged_rows([row])[0] for index, row in rows.items()},
        "credits": credits,
        "replayed": meta.replayed,
    }


def query_row(result: quarry.SearchResult) -> quarry.ServedRow:
    it = result
    return quarry.ServedRow("ok", it.id, it.target, it.query, it.geo, it.locale, it.page, it.results)


def run_sync(client: quarry.Client, call: Dict[str, Any]) -> Dict[str, Any]:
    received: Dict[int, Any] = {}
    try:
        if call["kind"] == "query":
            result = client.query(call["queries"][0], **options_of(call))
            return answered({0: query_row(result)}, result.meta, result.meta.credits_used)
        if call["kind"] == "bulk":
            batch = client.bulk(call["queries"], **options_of(call))
            return answered(dict(enumerate(batch.results)), batch.meta, batch.meta.credits_used)
        with client.stream(call["queries"], **options_of(call)) as stream:
            for index, row in stream:
                received[index] = row
            return answered(received, stream.meta, stream.summary and stream.summary.credits_used)
    except quarry.QuarryError as error:
        return failed(error, received)


async def run_async(client: quarry.AsyncClient, call: Dict[str, Any]) -> Dict[str, Any]:
    received: Dict[int, Any] = {}
    try:
        if call["kind"] == "query":
            result = await client.query(call["queries"][0], **options_of(call))
            return answered({0: query_row(result)}, result.meta, result.meta.credits_used)
        if call["kind"] == "bulk":
            batch = await client.bulk(call["queries"], **options_of(call))
            return answered(dict(enumerate(batch.results)), batch.meta, batch.meta.credits_used)
        async with client.stream(call["queries"], **options_of(call)) as stream:
            async for index, row in stream:
                received[index] = row
            return answered(received, stream.meta, stream.summary and stream.summary.credits_used)
    except quarry.QuarryError as error:
        return failed(error, received)


def work_sync(url: str, calls: "collections.deque[Dict[str, Any]]") -> None:
    clients = {key: quarry.Client(key, url, max_retries=8) for key in {it["secret"] for it in calls}}
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                if not calls:
                    return
                call = calls.popleft()
            try:
                outcome = run_sync(clients[call["secret"]], call)
            except BaseException:
                outcome = {"end": "untyped", "trace": traceback.format_exc()}
            with lock:
                ended(call, outcome)

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for it in threads:
        it.start()
    for it in threads:
        it.join()


async def work_async(url: str, calls: "collections.deque[Dict[str, Any]]") -> None:
    clients = {key: quarry.AsyncClient(key, url, max_retries=8) for key in {it["secret"] for it in calls}}

    async def work() -> None:
        while calls:
            call = calls.popleft()
            try:
                outcome = await run_async(clients[call["secret"]], call)
            except Exception:
                outcome = {"end": "untyped", "trace": traceback.format_exc()}
            ended(call, outcome)

    await asyncio.gather(*(work() for _ in range(WORKERS)))
    for client in clients.values():
        await client.aclose()


def main(url: str, face: str, file: str) -> None:
    with open(file, encoding="utf-8") as opened:
        calls = collections.deque(json.loads(line) for line in opened)
    if face == "sync":
        work_sync(url, calls)
    else:
        asyncio.run(work_async(url, calls))


if __name__ == "__main__":
    main(*sys.argv[1:])
