"""A Cardwire worker: it claims turns over HTTP and answers them, with the standard library alone.
Needs CARDWIRE_URL and CARDWIRE_TOKEN (scope `work`); CARDWIRE_TARGET says for whom (`python`)."""
import contextlib, http.client, json, os, socket, sys, time, uuid
from urllib.request import HTTPError, Request, urlopen

def ask(method, path, token, body=None):
    """Sends a request until it is answered; thanks to the key, what is written twice is there once."""
    url, data = os.environ["CARDWIRE_URL"] + path, json.dumps(body).encode() if body else None
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": uuid.uuid4().hex}
    while True:
        try:
            with urlopen(Request(url, data, headers, method=method), timeout=60) as answer:
                return json.load(answer)
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(error, HTTPError) and error.code < 500 and error.code != 429:
                error.msg = error.read().decode()  # A refusal, and what the server says of it.
                raise  # Whatever else happens passes: nobody there, an answer cut short.
        time.sleep(0.5)

def work(say, messages):
    """This is where your model goes; if it takes long, say `:heartbeat` every 10 s. Ours obeys four words."""
    start = max(place for place, message in enumerate(messages) if message["role"] == "user")
    instruction = messages[start]["content"]
    word, _, rest = str(instruction).partition(" ")
    answer = rest if word == "echo" else instruction
    thought = "x" * int(rest) if word == "big" and rest.isdigit() else instruction
    for _ in range(int(rest) if word == "slow" and rest.isdigit() else 0):
        time.sleep(1)
        say(":heartbeat")
    if word == "tool":
        results = [message["content"] for message in messages[start:] if message["role"] == "tool"]
        if not results:  # We get the turn again, with the result among its messages.
            call, content = f"call_{uuid.uuid4().hex}", {"tool_name": rest, "arguments": {}}
            say("/cards", content=content, metadata={"type": "tool.call"}, tool_call_id=call)
            return say(":suspend", waiting_tool_call_ids=[call], resume_deadline_seconds=60)
        answer = results[-1]["result"]
    say("/cards", content=thought, metadata={"type": "agent.thought"})
    say("/steps", phase="answer")
    say(":finish", status="success", deliverable={"answer": answer})

def run(path, token, epoch):
    """Whatever is said about a turn carries the token and the epoch of its lease."""
    say = lambda verb, **body: ask("POST", path + verb, token, {"turn_epoch": epoch, **body})
    try:
        say(":start")
        work(say, ask("GET", path + "/view", token)["messages"])
    except Exception as error:
        print(error, file=sys.stderr)
        if getattr(error, "code", None) not in (401, 409):  # Those two: the turn is not ours any more.
            reason = "too_large" if getattr(error, "code", None) == 413 else "worker_error"
            say(":finish", status="failed", error=str(error), error_code=reason)

claim = {"worker_target": os.getenv("CARDWIRE_TARGET", "python"), "wait_ms": 10_000, "recover": "target"}
claim["worker_id"] = f"python-{socket.gethostname()}"  # The same after a restart. Lost turns come to us, too.
while True:
    for lease in ask("POST", "/l0/claim", os.environ["CARDWIRE_TOKEN"], claim)["leases"]:
        path = f"/projects/{lease['project_id']}/l0/turns/{lease['agent_turn_id']}"
        with contextlib.suppress(HTTPError):
            if lease["kind"] != "stop":
                run(path, lease["turn_token"], lease["turn_epoch"])
