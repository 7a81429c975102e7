"""An MCP server of the older protocol, with a handshake, in the standard library alone. Its list of tools changes."""

import json
import sys

TOOLS = ["first"]


def answer(request):
    match request["method"]:
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "older", "version": "1"},
            }
        case "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
        case "tools/call":
            TOOLS.append("second")
            say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            return {"content": [{"type": "text", "text": f"{request['params']['name']} was called"}]}
    return None


def say(message):
    print(json.dumps(message), flush=True)


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request)
    if result is None:
        error = {"code": -32601, "message": "Method not found"}
        say({"jsonrpc": "2.0", "id": request["id"], "error": error})
    else:
        say({"jsonrpc": "2.0", "id": request["id"], "result": result})
