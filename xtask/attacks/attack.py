"""Attacks a server from outside and prints what an honest client feels (docs/benchmarks.md, "Attacks from outside").

    python3 xtask/attacks/attack.py NAME target/release/cardwire [sqlite | postgres://…/EMPTY_DATABASE]

Standard library only. Every attack starts a server of its own on a free port of this machine, is bounded, and stops the server
again. The names are the functions below that are called `attack_…`; `locked-row` needs Postgres and `psql`, `silent-database` Postgres.
"""

import asyncio
import json
import os
import random
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

HALF_HEADS = [b"", b"G", b"GET /ready HTTP/1.1\r\nHost: local", b"POST /projects HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"]


class Server:
    """A server with a directory of its own."""

    def __init__(self, binary, store):
        self.dir = tempfile.mkdtemp(prefix="cardwire-attack-")
        env = dict(os.environ, CARDWIRE_LOG="warn", CARDWIRE_STORE=store)
        log = open(f"{self.dir}/log", "w")
        command = [binary, "up", "--data-dir", f"{self.dir}/data", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=env, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.port = int(self.url.rsplit(":", 1)[1])
        self.process.stdout.readline()
        self.admin = open(f"{self.dir}/data/admin.token").read().strip()
        for project in ("honest", "hostile"):
            self.ask("POST", "/projects", {"project_id": project})
        wanted = {"scopes": ["read", "work", "operate"], "project_id": "honest"}
        self.honest = self.ask("POST", "/tokens", wanted)[1]["token"]

    def ask(self, method, path, body=None, timeout=70):
        """One request as the administrator: status and body."""
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("authorization", f"Bearer {self.admin}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("content-type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def resident_kb(self):
        return int(next(line for line in open(f"/proc/{self.process.pid}/status") if line.startswith("VmRSS")).split()[1])

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def stop(self):
        """Seconds from SIGTERM to the end."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "never"
        return round(time.monotonic() - begun, 2)


class Client:
    """One connection that is kept."""

    def __init__(self, server, token):
        self.server, self.token, self.writer = server, token, None

    async def ask(self, method, path, body=None):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        self.writer.write(head.encode() + data)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        length = next((int(line[15:]) for line in answer.split(b"\r\n") if line.startswith(b"content-length:")), 0)
        await self.reader.readexactly(length)
        if b"connection: close" in answer:
            self.writer.close()
            self.writer = None
        return int(answer.split(b" ", 2)[1])


async def honest(server, count=400):
    """Milliseconds that an honest writer waits for each of its cards."""
    client, waits = Client(server, server.honest), []
    for number in range(count):
        begun = time.perf_counter()
        card = {"content": f"card {number}", "metadata": {"type": "task.instruction"}}
        assert await client.ask("POST", "/projects/honest/l0/cards", card) == 201
        waits.append((time.perf_counter() - begun) * 1000)
        await asyncio.sleep(0.005)
    return waits


def tell(name, waits):
    waits = sorted(waits)
    print(f"{name}: p50 {statistics.median(waits):.2f}, p99 {waits[int(len(waits) * 0.99)]:.2f}, longest {waits[-1]:.1f} ms")


async def beside(server, work, name):
    """What an honest writer feels while `work(stop)` runs in so many tasks as it yields."""
    stop = asyncio.Event()
    tasks = [asyncio.create_task(task) for task in work(stop)]
    await asyncio.sleep(1)
    tell(name, await honest(server))
    stop.set()
    await asyncio.gather(*tasks)


async def attack_half_open(server):
    """F-37: 5,000 connections with nothing, half a head or half a body."""
    before, kept, waits = server.resident_kb(), [], []
    for number in range(5000):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(HALF_HEADS[number % len(HALF_HEADS)])
        kept.append(writer)
        if number % 100 == 0:
            begun = time.perf_counter()
            assert await Client(server, server.honest).ask("GET", "/projects/honest") == 200
            waits.append((time.perf_counter() - begun) * 1000)
    print(f"{server.open_files()} files are open, {(server.resident_kb() - before) / 5000:.1f} kB each")
    tell("an honest client, each time on a new connection", waits)
    await asyncio.sleep(25)
    print(f"{server.open_files()} files are open after 25 s")


async def attack_unknown_tokens(server):
    """F-26: unknown tokens from 32 connections, and the same flood on /health."""

    def flood(path, token, counts):
        async def send(stop):
            client = Client(server, "")
            while not stop.is_set():
                client.token = token()
                status = await client.ask("GET", path)
                counts[status] = counts.get(status, 0) + 1

        return lambda stop: (send(stop) for _ in range(32))

    tell("alone", await honest(server))
    for path, token in (("/health", lambda: "none"), ("/projects/honest", lambda: f"cw_{random.getrandbits(256):064x}")):
        counts = {}
        await beside(server, flood(path, token, counts), f"beside {path}")
        print(counts)


async def attack_compose(server):
    """F-45: eight clients compose 7 MB each, again and again."""
    words = "lorem ipsum dolor sit amet " * 270
    messages = [{"role": "ai" if number % 2 else "human", "content": words} for number in range(1000)]
    body = {"system_prompt": "s", "query": "q", "contexts": {}, "checkpoint_messages": messages}

    async def compose(stop):
        client = Client(server, server.admin)
        while not stop.is_set():
            await client.ask("POST", "/context/compose", body)

    tell("alone", await honest(server))
    await beside(server, lambda stop: (compose(stop) for _ in range(8)), "beside eight that compose")


async def attack_silent_streams(server):
    """F-25: 1,500 event streams that nobody reads, on another project."""
    tell("alone", await honest(server))
    before, streams = server.resident_kb(), []
    for _ in range(1500):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"GET /projects/hostile/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.admin}\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        streams.append(writer)
    await asyncio.sleep(3)
    print(f"{(server.resident_kb() - before) / 1500:.1f} kB each")
    tell("beside 1,500 streams", await honest(server))


async def attack_locked_row(server):
    """F-22: 5,000 appends wait behind one locked row of another project."""
    made = [server.ask("POST", "/projects/hostile/l0/cards", {"content": f"{n}", "metadata": {"type": "note"}}) for n in range(5001)]
    cards = [answer["card_id"] for _, answer in made]
    box = server.ask("POST", "/projects/hostile/l0/boxes", {"card_ids": cards[:1]})[1]["box_id"]
    tell("alone", await honest(server))
    psql = subprocess.Popen(["psql", STORE, "-qAt"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    psql.stdin.write("BEGIN; SELECT 1 FROM card_boxes FOR UPDATE;\n")
    psql.stdin.flush()
    await asyncio.sleep(1)
    append = lambda card: Client(server, server.admin).ask("POST", f"/projects/hostile/l0/boxes/{box}/cards", {"card_ids": [card]})
    waiting = [asyncio.create_task(append(card)) for card in cards[1:]]
    await asyncio.sleep(3)
    tell("beside", await honest(server))
    print(f"{sum(not task.done() for task in waiting)} were waiting all the time")
    psql.communicate("ROLLBACK;\n")
    assert set(await asyncio.gather(*waiting)) == {200}


async def attack_stop(server):
    """F-44: half a head, half a body and a stream that is not read, when the server is told to stop."""
    stream = f"GET /projects/hostile/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.admin}\r\n\r\n"
    body = f"POST /projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.admin}\r\nContent-Length: 9\r\n\r\n{{"
    for sent in (*HALF_HEADS, stream.encode(), body.encode()):
        KEPT.append(socket.create_connection(("127.0.0.1", server.port)))
        KEPT[-1].sendall(sent)
    await asyncio.sleep(0.3)


class Proxy:
    """Stands before Postgres, and can fall silent for the connections it has."""

    def __init__(self, host, port):
        self.to, self.age, self.listener = (host, port), 0, socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            here, there = self.listener.accept()[0], socket.create_connection(self.to)
            for pair in ((here, there), (there, here)):
                threading.Thread(target=self.carry, args=(*pair, self.age), daemon=True).start()

    def carry(self, source, target, age):
        while data := source.recv(65536):
            if age == self.age:
                target.sendall(data)


async def attack_silent_database(server):
    """F-33: the connections to Postgres fall silent; new ones work."""
    await asyncio.sleep(2)
    PROXY.age += 1
    begun = time.monotonic()
    while time.monotonic() - begun < 12:
        card = {"content": "x", "metadata": {"type": "note"}}
        status, _ = await asyncio.to_thread(server.ask, "POST", "/projects/honest/l0/cards", card)
        print(f"after {time.monotonic() - begun:5.2f} s: a write is {status}, /ready {server.ask('GET', '/ready')[0]}")
        await asyncio.sleep(1)
    PROXY.age += 1


if __name__ == "__main__":
    if len(sys.argv) < 3 or f"attack_{sys.argv[1].replace('-', '_')}" not in globals():
        sys.exit(__doc__)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    ATTACK, BINARY = globals()[f"attack_{sys.argv[1].replace('-', '_')}"], sys.argv[2]
    STORE, KEPT = sys.argv[3] if len(sys.argv) > 3 else "sqlite", []
    seen = STORE
    if ATTACK is attack_silent_database:
        before, _, after = STORE.rpartition("@")
        address, _, name = after.removeprefix("postgres://").partition("/")
        PROXY = Proxy(address.split(":")[0], int(address.split(":")[1]))
        seen = f"{before + '@' if before else 'postgres://'}127.0.0.1:{PROXY.port}/{name}"
    SERVER = Server(BINARY, seen)
    asyncio.run(ATTACK(SERVER))
    print(f"it stopped in {SERVER.stop()} s")
