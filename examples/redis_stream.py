"""Fill a Redis stream as it arrives: rows from the stream `plant`, filled rows to the stream `plant:filled`.

    redis-server --port 6379 &
    python examples/redis_stream.py --model model --port 6379
    redis-cli XADD plant '*' time 2024-01-01T00:00 temp 20.5 flow 3.1

Every entry is a row: its fields are the columns, a field that is absent is missing. The position in the stream
is kept in Redis, the state of the fill in a folder, so that the program can be stopped and started again.
"""

import argparse
import json

import redis

import t1


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--model", required=True, help="a folder that t1 train wrote")
    p.add_argument("--stream", default="plant")
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--port", type=int, default=6379)
    p.add_argument("--time", default="time", help="the field of the time")
    p.add_argument("--state", help="a folder: go on from here, and keep the state here")
    p.add_argument("--idle", type=float, help="end after so many seconds without a row")
    a = p.parse_args()
    server = redis.Redis(a.host, a.port, decode_responses=True)
    live = t1.load(a.model).live()
    position = "0"
    if a.state is not None and (kept := server.get(f"{a.stream}:position")):
        live.restore(a.state)
        position = kept
    while True:
        wait = 0 if a.idle is None else int(a.idle * 1000)
        found = server.xread({a.stream: position}, count=100, block=wait)
        if not found:
            break
        for _, entries in found:
            for number, fields in entries:
                position = number
                time = fields.pop(a.time, None)
                row = {name: float(text) for name, text in fields.items()}
                for told in live.push(row, time):
                    values = dict(zip(live.columns, told.values.tolist(), strict=True))
                    filled = [
                        name for name, seen in zip(live.columns, told.observed, strict=True) if not seen
                    ]
                    entry = {"time": str(told.time), "status": told.status, "row": json.dumps(values)}
                    server.xadd(f"{a.stream}:filled", {**entry, "filled": json.dumps(filled)}, maxlen=10_000)
        if a.state is not None:  # first the state, then the position: rows may come twice, never be lost
            live.save(a.state)
            server.set(f"{a.stream}:position", position)
    print(f"ended at {position}")


if __name__ == "__main__":
    main()
