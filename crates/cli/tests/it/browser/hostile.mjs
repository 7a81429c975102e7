// Cards that want to be more than text: nothing of them runs, loads, or leads anywhere (IN-03).

import { cardwire, check, file, journey, same, sha256, told } from "./support.mjs";

// A card may have one MiB, with its quotes.
const LINE = "w".repeat((1 << 20) - 64);
const HOSTILE = [
  '<script>document.title = "taken"; alert(1)</script>',
  '<img src="/inspect/nowhere" onerror="alert(1)"><svg onload="alert(1)"></svg><style>body { display: none }</style>',
  '"><iframe src="javascript:alert(1)"></iframe>\' onfocus=alert(1) autofocus x=\'',
  "[click](javascript:alert(1)) javascript:alert(1) data:text/html,<script>alert(1)</script>",
  "\u202eright to left\u2066 and \u2028lines\u2029 and \u200b nothing\ufeff",
  "\u001b[31mred\u001b[0m \u001b]8;;http://evil.example\u0007link\u001b]8;;\u0007 \u0007\u0008",
  "</pre></div></main><form action=http://evil.example><button>Sign in</button></form>",
  "<a href=http://evil.example>away</a><meta http-equiv=refresh content=0;url=http://evil.example><base href=http://evil.example>",
  "&lt;script&gt;alert(1)&lt;/script&gt; &#x3c;script>",
];
const EVERYTHING = HOSTILE.join("\n");

await cardwire("project", "create", "hostile");
await file("line.txt", LINE);
await file("nul.json", JSON.stringify("before\u0000after"));
const cards = [];
const put = async (...more) => cards.push(await told("card", "put", "--project", "hostile", "--type", "task.instruction", ...more));
for (const text of HOSTILE) await put("--text", text, "--author", text.replace(/[\p{C}\p{Zl}]/gu, "").slice(0, 60));
await put("--file", "line.txt");
// What the store does not take cannot be shown.
await put("--file", "nul.json", "--as-json").catch(() => {});
const box = await told("box", "create", "--project", "hostile", ...cards);
await file("team.yaml", JSON.stringify({
  name: "hostile", process: "sequential", description: EVERYTHING,
  agents: [{ id: "one", description: EVERYTHING, profile: { system_prompt: EVERYTHING } }],
  model: { provider: "scripted", script: { rules: [{ reply: EVERYTHING }] } },
}));
const run = await cardwire("run", "team.yaml", EVERYTHING, "--project", "hostile");

await journey(async ({ watch, part, visitor }) => {
  const page = await visitor("hostile");
  /** What a page of ours is made of, and nothing of a card's. */
  const plain = async () => {
    const strange = await page.evaluate(() => [
      ...[...document.querySelectorAll("iframe, object, embed, img, base, style, meta[http-equiv], [onerror], [onload], [onfocus]")]
        .map((element) => element.outerHTML),
      ...[...document.scripts].filter((script) => !script.src.includes("/inspect/assets/")).map((script) => script.outerHTML),
      ...[...document.querySelectorAll("a[href], form[action]")].map((element) => element.href ?? element.action)
        .filter((href) => !href.startsWith(`${location.origin}/inspect`)),
    ]);
    same(strange, [], `strange elements at ${page.url()}`);
    check(!(await page.title()).startsWith("taken"), "no script ran");
  };
  const visit = async (path) => {
    await page.goto(`/inspect/p/hostile${path}`);
    await plain();
  };

  await part("each card is shown as it is", async () => {
    for (const [at, card] of cards.entries()) {
      await visit(`/cards/${card}`);
      const said = HOSTILE[at];
      if (said) same(await page.locator(".box pre").first().textContent(), said, "what the card says");
    }
    await visit(`/cards/${cards[HOSTILE.length]}`);
    same((await page.locator(".box pre").first().textContent()).length, LINE.length, "the long line");
  });

  let call;
  await part("so are they in boxes, searches, runs, turns and calls", async () => {
    await visit("");
    await visit(`/boxes/${box}`);
    for (const q of ["script", "javascript:alert(1)", '"><script>alert(1)</script>', "\u202e"]) await visit(`/search?q=${encodeURIComponent(q)}`);
    await visit(`/runs/${run.agent_turn_id}`);
    await page.getByRole("link", { name: "Open call" }).click();
    await page.waitForURL("**/calls/*");
    call = new URL(page.url()).pathname;
    await plain();
    for (const tab of ["bytes", "manifest", "answer"]) {
      await page.goto(`${call}?tab=${tab}`);
      await plain();
    }
    await visit(`/turns/${run.agent_turn_id}`);
    await visit("/agents");
    await visit("/events");
    await visit("/audit");
    await visit("/cost?by=card");
  });

  await part("the bytes are those that were sent", async () => {
    await page.goto(`${call}?tab=bytes`);
    const bytes = await page.locator("[data-sha256]").textContent();
    same(sha256(bytes), await page.locator("[data-sha256]").getAttribute("data-sha256"), "the hash");
    check(bytes.includes("onerror=") && bytes.includes("javascript:alert(1)"), "the cards are in the call");
  });

  await part("addresses are no better", async () => {
    await watch.expecting([/40[04]/], async () => {
      for (const path of ["/runs/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/nowhere/%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E", "/cards/%00", "/boxes/javascript:alert(1)"]) {
        await visit(path);
      }
    });
  });
});
