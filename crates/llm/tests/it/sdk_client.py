"""Asks a server with the official clients, and prints what they read as JSON.

Arguments: the format, the server's address, and the messages to send. Each is sent twice: whole, then streamed.
"""

import json
import sys

import anthropic
import openai

SCHEMA = {"type": "object", "properties": {}}


def ask_openai(url, message):
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0, timeout=30)
    asked = {
        "model": "m",
        "messages": [{"role": "user", "content": message}],
        "tools": [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("find", "note")],
    }
    yield client.chat.completions.create(**asked)
    with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
        yield stream.get_final_completion()


def told_by_openai(completion):
    choice = completion.choices[0]
    calls = choice.message.tool_calls or []
    return {
        "text": choice.message.content or "",
        "tool_calls": [
            {"id": call.id, "name": call.function.name, "arguments": json.loads(call.function.arguments)}
            for call in calls
        ],
        "stop": choice.finish_reason,
        "model": completion.model,
        "input_tokens": completion.usage.prompt_tokens,
        "cached_tokens": completion.usage.prompt_tokens_details.cached_tokens,
        "output_tokens": completion.usage.completion_tokens,
    }


def ask_anthropic(url, message):
    client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=30)
    asked = {
        "model": "m",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": message}],
        "tools": [{"name": name, "input_schema": SCHEMA} for name in ("find", "note")],
    }
    yield client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        yield stream.get_final_message()


def told_by_anthropic(message):
    usage = message.usage
    return {
        "text": "".join(block.text for block in message.content if block.type == "text"),
        "tool_calls": [
            {"id": block.id, "name": block.name, "arguments": block.input}
            for block in message.content
            if block.type == "tool_use"
        ],
        "stop": message.stop_reason,
        "model": message.model,
        "input_tokens": usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens,
        "cached_tokens": usage.cache_read_input_tokens,
        "output_tokens": usage.output_tokens,
    }


CLIENTS = {
    "openai-chat": (ask_openai, told_by_openai),
    "anthropic-messages": (ask_anthropic, told_by_anthropic),
}

form, url, *messages = sys.argv[1:]
ask, told = CLIENTS[form]
print(json.dumps([told(answer) for message in messages for answer in ask(url, message)]))
