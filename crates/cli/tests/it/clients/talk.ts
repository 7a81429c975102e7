// Talks to a server through types that were generated from its OpenAPI document: node talk.js URL TOKEN

import createClient from "openapi-fetch";
import type { components, operations, paths } from "./cardwire.js";

declare const process: { argv: string[] };

type Card = components["schemas"]["CardOut"];
type ErrorCode = components["schemas"]["ErrorCode"];
type Event = components["schemas"]["EventOut"];

const [, , url = "", token = ""] = process.argv;
const client = createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${token}` } });
const path = { project_id: "demo" };

function is(condition: boolean, what: unknown): asserts condition {
  if (!condition) throw new Error(JSON.stringify(what));
}

// What has come, or an error that says why it has not.
function come<T>(answer: { data?: T; error?: unknown }): T {
  is(answer.data !== undefined, answer.error);
  return answer.data;
}

const stranger = createClient<paths>({ baseUrl: url });
const ready = come(await stranger.GET("/ready"));
is(ready.status === "ready" && ready.version === undefined, ready);

const project = come(await client.POST("/projects", { body: { project_id: "demo", title: "A desk" } }));
is(project.title === "A desk", project);

const put = await client.POST("/projects/{project_id}/l0/cards", {
  params: { path, header: { "Idempotency-Key": "k1" } },
  body: { content: { say: "hello" }, metadata: { type: "task.instruction", role: "user" } },
});
const card: Card = come(put);
const card_id: string = card.card_id;
const read: Card = come(await client.GET("/projects/{project_id}/cards/{card_id}", { params: { path: { ...path, card_id } } }));
is(JSON.stringify(read.content) === '{"say":"hello"}' && read.content_hash === card.content_hash, read);

// An error has a code that the compiler knows.
const missing = await client.GET("/projects/{project_id}/cards/{card_id}", {
  params: { path: { ...path, card_id: "0".repeat(32) } },
});
const code: ErrorCode | undefined = missing.error?.error.code;
is(missing.response.status === 404 && code === "not_found", missing.error);

const box = come(await client.POST("/projects/{project_id}/l0/boxes", { params: { path }, body: { card_ids: [card_id] } }));
come(
  await client.PUT("/projects/{project_id}/profiles/{profile_name}", {
    params: { path: { ...path, profile_name: "Writer" } },
    body: { worker_target: "writers", system_prompt: "You write." },
  }),
);
come(
  await client.POST("/projects/{project_id}/agents", {
    params: { path },
    body: { agent_id: "writer", profile_name: "Writer" },
  }),
);

// Agent and context are all that a turn needs.
for (let n = 0; n < 3; n++) {
  const turn = come(
    await client.POST("/projects/{project_id}/l0/turns", {
      params: { path },
      body: { agent_id: "writer", context_box_id: box.box_id },
    }),
  );
  const epoch: number | null = turn.turn_epoch;
  is(epoch === (n === 0 ? 1 : null), turn);
}

// Page by page.
let cursor: string | undefined;
let seen = 0;
do {
  const query: operations["listTurns"]["parameters"]["query"] = cursor === undefined ? { limit: 2 } : { limit: 2, cursor };
  const page = come(await client.GET("/projects/{project_id}/turns", { params: { path, query } }));
  seen += page.items.length;
  cursor = page.next_cursor ?? undefined;
} while (cursor !== undefined);
is(seen === 3, seen);

// The arguments of a tool are checked by the compiler, too.
const args: components["schemas"]["ForkJoinArgs"] = {
  tasks: [{ target_strategy: "new", target_ref: "Writer", instruction: "Write about boats." }],
  fail_fast: true,
};
const forked = come(
  await client.POST("/projects/{project_id}/pmo/{tool}:call", {
    params: { path: { ...path, tool: "fork_join" } },
    body: { caller_agent_id: "writer", args },
  }),
);
is(forked.status === "accepted", forked);

// A stream is text: one event after the other.
const stream = await client.GET("/projects/{project_id}/events", {
  params: { path, query: { follow: false } },
  parseAs: "text",
});
const events: Event[] = come(stream)
  .split("\n")
  .filter((line) => line.startsWith("data:"))
  .map((line): Event => JSON.parse(line.slice("data:".length)));
is(events.length > 0 && events.every((event, n) => event.position === n + 1), events);
console.log("all is well");
