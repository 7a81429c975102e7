"""Talks to a server through a client that was generated from its OpenAPI document: talk.py URL TOKEN"""

import json
import sys
from typing import TypeVar

from cardwire_client import AuthenticatedClient, Client
from cardwire_client.api.facts import create_box, get_card, put_card
from cardwire_client.api.pmo import call_tool
from cardwire_client.api.roster import add_agent, put_profile
from cardwire_client.api.system import create_project, get_readiness, read_events
from cardwire_client.api.turns import dispatch_turn, list_turns
from cardwire_client.models import (
    AgentIn,
    BoxIn,
    CallIn,
    CardIn,
    CardMetadata,
    CardMetadataRole,
    DelegateAsyncArgs,
    DispatchIn,
    ErrorBody,
    ErrorCode,
    EventOut,
    ForkJoinArgs,
    ProfileIn,
    ProjectIn,
    TargetStrategy,
)
from cardwire_client.types import UNSET, Unset

Answer = TypeVar("Answer")


def come(answer: Answer | ErrorBody | None) -> Answer:
    """What has come, or an error that says why it has not."""
    assert answer is not None and not isinstance(answer, ErrorBody), answer
    return answer


url, token = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token)

ready = come(get_readiness.sync(client=Client(base_url=url)))
assert ready.status == "ready" and isinstance(ready.version, Unset)

project = come(create_project.sync(client=client, body=ProjectIn(project_id="demo", title="A desk")))
assert project.title == "A desk"

metadata = CardMetadata(type_="task.instruction", role=CardMetadataRole.USER)
body = CardIn(content={"say": "hello"}, metadata=metadata)
card = come(put_card.sync("demo", client=client, body=body, idempotency_key="k1"))
read = come(get_card.sync("demo", card.card_id, client=client))
assert read.content == {"say": "hello"} and read.created_at == card.created_at
assert read.created_at.tzinfo is not None, "a moment is one, and not a text"

# An error has a code that the checker knows.
missing = get_card.sync("demo", "0" * 32, client=client)
assert isinstance(missing, ErrorBody) and missing.error.code is ErrorCode.NOT_FOUND, missing

box = come(create_box.sync("demo", client=client, body=BoxIn(card_ids=[card.card_id])))
profile = ProfileIn(worker_target="writers", system_prompt="You write.")
come(put_profile.sync("demo", "Writer", client=client, body=profile))
come(add_agent.sync("demo", client=client, body=AgentIn(agent_id="writer", profile_name="Writer")))

# Agent and context are all that a turn needs.
for n in range(3):
    order = DispatchIn(agent_id="writer", context_box_id=box.box_id)
    turn = come(dispatch_turn.sync("demo", client=client, body=order))
    assert turn.turn_epoch == (1 if n == 0 else None), turn

# Page by page.
seen = 0
cursor: str | Unset = UNSET
while True:
    page = come(list_turns.sync("demo", client=client, limit=2, cursor=cursor))
    seen += len(page.items)
    if not page.next_cursor:
        break
    cursor = page.next_cursor
assert seen == 3

# The arguments of a tool are checked, too.
task = DelegateAsyncArgs(
    target_strategy=TargetStrategy.NEW, target_ref="Writer", instruction="Write about boats."
)
call = CallIn(caller_agent_id="writer", args=ForkJoinArgs(tasks=[task], fail_fast=True))
forked = come(call_tool.sync("demo", "fork_join", client=client, body=call))
assert forked.status == "accepted", forked

# A stream is text: one event after the other.
stream = come(read_events.sync("demo", client=client, follow=False))
lines = [line for line in stream.splitlines() if line.startswith("data:")]
events = [EventOut.from_dict(json.loads(line.removeprefix("data:"))) for line in lines]
assert [event.position for event in events] == list(range(1, len(events) + 1)) and events
print("all is well")
