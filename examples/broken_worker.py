"""worker.py with two bugs that look like care, marked BUG: `cardwire tck worker` finds them both.
Needs CARDWIRE_URL and CARDWIRE_TOKEN (scope `work`); CARDWIRE_TARGET says for whom (`python`)."""
import contextlib, http.client, json, os, time, uuid
from urllib.request import HTTPError, Request, urlopen

def ask(method, path, token, body=None):
    """Sends a request until it is answered; thanks to the key, what is sent twice is done once."""
    url, data = os.environ["CARDWIRE_URL"] + path, json.dumps(body).encode() if body else None
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": uuid.uuid4().hex}
    while True:
        try:
            with urlopen(Request(url, data, headers, method=method), timeout=60) as answer:
                return json.load(answer)
        except (OSError, http.client.HTTPException, ValueError):
            pass  # BUG: a refusal (an HTTPError is an OSError) is tried again as well, for ever.
        time.sleep(0.2)

def work(say, messages):
    """This is where your model goes. Ours obeys four words and sends everything else back."""
    start = max(place for place, message in enumerate(messages) if message["role"] == "user")
    instruction = messages[start]["content"]
    word, _, rest = str(instruction).partition(" ")
    answer = rest if word == "echo" else instruction
    thought = "x" * int(rest) if word == "big" and rest.isdigit() else instruction
    if word == "slow" and rest.isdigit():
        for _ in range(int(rest)):
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
        code = getattr(error, "code", None)
        if code not in (401, 409):  # Those two say that the turn is not ours any more.
            reason = "too_large" if code == 413 else "worker_error"
            say(":finish", status="failed", error=str(error), error_code=reason)

epochs = {}  # BUG: an epoch belongs to a turn; here it is kept as if it belonged to the agent.
target = os.getenv("CARDWIRE_TARGET", "python")
claim = {"worker_target": target, "worker_id": f"python-{os.getpid()}", "wait_ms": 10_000}
while True:
    for lease in ask("POST", "/l0/claim", os.environ["CARDWIRE_TOKEN"], claim)["leases"]:
        path = f"/projects/{lease['project_id']}/l0/turns/{lease['agent_turn_id']}"
        with contextlib.suppress(HTTPError):
            if lease["kind"] != "stop":
                epoch = epochs.setdefault(lease["agent_id"], lease["turn_epoch"])
                run(path, lease["turn_token"], epoch)
