"""A provider whose answers are made with the official libraries' own types, and which checks requests with them.

It prints its port, and serves until its input ends. What it answers is chosen by the model's name.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.message_create_params import MessageCreateParams
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParams
from pydantic import TypeAdapter, ValidationError

KEY = "hunter2hunter2"
OPENAI_REQUEST = TypeAdapter(CompletionCreateParams)
ANTHROPIC_REQUEST = TypeAdapter(MessageCreateParams)
ANTHROPIC_EVENT = TypeAdapter(RawMessageStreamEvent)

# Text in the pieces that are streamed, calls as (id, arguments in pieces), and why it stops, by both names.
ANSWERS = {
    "text": (["Hello, ", "世", "界!\n", "Bye."], [], ("stop", "end_turn")),
    "tools": (["Look", "ing."], [("call_a", ['{"q"', ':"', 'é"}']), ("call_b", [])], ("tool_calls", "tool_use")),
    "only-tools": ([], [("call_a", ['{"q":1}'])], ("tool_calls", "tool_use")),
    "length": (["Hel"], [], ("length", "max_tokens")),
    "filtered": ([], [], ("content_filter", "refusal")),
    "cut": (["Hello"], [], ("stop", "end_turn")),
    "fails-midway": (["Hello"], [], ("stop", "end_turn")),
}
TOO_LONG = {
    "openai": ("This model's maximum context length is 8192 tokens.", "invalid_request_error", "context_length_exceeded"),
    "anthropic": ("prompt is too long: 9000 tokens > 8192 maximum", "invalid_request_error", None),
}
ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def exhaust(value):
    """Lists in these types are checked only when somebody looks at them."""
    if isinstance(value, dict):
        for item in value.values():
            exhaust(item)
    elif not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        for item in value:
            exhaust(item)


def openai_usage():
    return {
        "prompt_tokens": 12,
        "completion_tokens": 5,
        "total_tokens": 17,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def openai_answer(name):
    text, calls, (stop, _) = ANSWERS[name]
    message = {"role": "assistant", "content": "".join(text) or None}
    if calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": "find", "arguments": "".join(pieces) or "{}"}}
            for id, pieces in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": stop}
    return ChatCompletion(
        id="chatcmpl-1",
        object="chat.completion",
        created=1,
        model=f"{name}-1",
        choices=[choice],
        usage=openai_usage(),
    ).model_dump_json()


def openai_stream(name):
    text, calls, (stop, _) = ANSWERS[name]
    choices = [({"role": "assistant", "content": ""}, None)]
    choices += [({"content": piece}, None) for piece in text]
    for index, (id, _) in enumerate(calls):
        begun = {"index": index, "id": id, "type": "function", "function": {"name": "find", "arguments": ""}}
        choices.append(({"tool_calls": [begun]}, None))
    # The pieces of all calls in turns.
    for place in range(max((len(pieces) for _, pieces in calls), default=0)):
        for index, (_, pieces) in enumerate(calls):
            if place < len(pieces):
                more = {"index": index, "function": {"arguments": pieces[place]}}
                choices.append(({"tool_calls": [more]}, None))
    choices.append(({}, stop))

    def event(choices, usage):
        chunk = ChatCompletionChunk(
            id="chatcmpl-1",
            object="chat.completion.chunk",
            created=1,
            model=f"{name}-1",
            choices=choices,
            usage=usage,
        )
        return f"data: {chunk.model_dump_json()}\n\n"

    for delta, reason in choices:
        if reason and name == "cut":
            return
        if reason and name == "fails-midway":
            error = {"error": {"message": "busy", "type": "overloaded_error", "param": None, "code": None}}
            yield f"data: {json.dumps(error)}\n\n"
            return
        yield event([{"index": 0, "delta": delta, "finish_reason": reason}], None)
    yield event([], openai_usage())
    yield "data: [DONE]\n\n"


def anthropic_usage(output):
    return {
        "input_tokens": 6,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 4,
        "output_tokens": output,
    }


def anthropic_message(name, content, stop, output):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{name}-1",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": anthropic_usage(output),
    }


def anthropic_answer(name):
    text, calls, (_, stop) = ANSWERS[name]
    content = [{"type": "text", "text": "".join(text)}] if text else []
    for id, pieces in calls:
        content.append({"type": "tool_use", "id": id, "name": "find", "input": json.loads("".join(pieces) or "{}")})
    return Message(**anthropic_message(name, content, stop, 5)).model_dump_json()


def anthropic_stream(name):
    text, calls, (_, stop) = ANSWERS[name]

    def event(data):
        made = ANTHROPIC_EVENT.validate_python(data)
        return f"event: {data['type']}\ndata: {made.model_dump_json()}\n\n"

    yield event({"type": "message_start", "message": anthropic_message(name, [], None, 1)})
    yield 'event: ping\ndata: {"type": "ping"}\n\n'
    blocks = [({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in text])] if text else []
    for id, pieces in calls:
        begun = {"type": "tool_use", "id": id, "name": "find", "input": {}}
        blocks.append((begun, [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces]]))
    for index, (begun, deltas) in enumerate(blocks):
        yield event({"type": "content_block_start", "index": index, "content_block": begun})
        for delta in deltas:
            yield event({"type": "content_block_delta", "index": index, "delta": delta})
        if name == "cut":
            return
        if name == "fails-midway":
            error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
            yield f"event: error\ndata: {json.dumps(error)}\n\n"
            return
        yield event({"type": "content_block_stop", "index": index})
    usage = {"output_tokens": 5}
    yield event({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage})
    yield event({"type": "message_stop"})


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        raw = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/v1/chat/completions":
            self.provider = "openai"
            if self.headers["authorization"] != f"Bearer {KEY}":
                return self.refuse(401, "Incorrect API key provided", "invalid_request_error", "invalid_api_key")
        elif self.path == "/v1/messages":
            self.provider = "anthropic"
            if self.headers["x-api-key"] != KEY or self.headers["anthropic-version"] != "2023-06-01":
                return self.refuse(401, "invalid x-api-key", "authentication_error", None)
        else:
            self.provider = "openai"
            return self.refuse(404, f"no such path: {self.path}", "invalid_request_error", None)
        self.answer(raw)

    def answer(self, raw):
        request = OPENAI_REQUEST if self.provider == "openai" else ANTHROPIC_REQUEST
        try:
            body = json.loads(raw)
            exhaust(request.validate_python(body))
        except (ValueError, ValidationError) as error:
            return self.refuse(400, str(error), "invalid_request_error", None)
        name = body["model"]
        if name == "too-long":
            return self.refuse(400, *TOO_LONG[self.provider])
        if name.startswith("status-"):
            status = int(name.removeprefix("status-"))
            kind = ANTHROPIC_TYPES.get(status, "api_error") if self.provider == "anthropic" else "some_error"
            return self.refuse(status, "as you wish", kind, None)
        if body.get("stream"):
            stream = openai_stream if self.provider == "openai" else anthropic_stream
            self.head(200, "text/event-stream; charset=utf-8")
            for event in stream(name):
                self.wfile.write(event.encode())
                self.wfile.flush()
        else:
            whole = openai_answer if self.provider == "openai" else anthropic_answer
            self.head(200, "application/json")
            self.wfile.write(whole(name).encode())

    def refuse(self, status, message, kind, code):
        if self.provider == "openai":
            error = {"error": {"message": message, "type": kind, "param": None, "code": code}}
        else:
            error = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
        self.head(status, "application/json")
        self.wfile.write(json.dumps(error).encode())

    def head(self, status, kind):
        self.send_response(status)
        self.send_header("content-type", kind)
        if status == 429:
            self.send_header("retry-after", "3")
        self.end_headers()

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
