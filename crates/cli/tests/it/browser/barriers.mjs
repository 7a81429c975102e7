// No page has a barrier that axe knows (WCAG 2.2 AA), in both themes; pages fit a phone, and their links lead somewhere (IN-08, IN-09).

import { axe, begin, cardwire, check, eventually, example, file, journey, same, told } from "./support.mjs";

const DESK = { width: 1280, height: 800 }, PHONE = { width: 360, height: 740 };
const TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"];
await cardwire("run", example("teams/research.yaml"), "Where should our measurements be kept?", "--project", "research");
await file("asking.yaml", JSON.stringify({
  name: "asking", process: "sequential",
  agents: [{ id: "painter", profile: { system_prompt: "You paint." } }],
  model: { provider: "scripted", script: { rules: [
    { match: { agent: "painter" }, tool_calls: [{ name: "ask_human", arguments: { question: "Which colour?" } }] },
  ] } },
}));
await begin("run", "asking.yaml", "Paint the boat.", "--project", "research", "--session", "boat");

await journey(async ({ watch, part, guest, visitor }) => {
  const page = await visitor("research");
  let pages = {};

  await part("the pages are found", async () => {
    const runs = (await eventually("the question is asked", async () => {
      const { items } = await cardwire("turn", "list", "--project", "research");
      return items.some((turn) => turn.status === "suspended" && turn.agent_id === "painter") && items;
    }));
    const turn = (agent) => runs.find((turn) => turn.agent_id === agent || turn.agent_name === agent)?.agent_turn_id;
    const root = turn("team_research");
    const principal = turn("principal");
    const steps = await cardwire("turn", "steps", principal, "--project", "research");
    const calls = steps.items.map((step) => step.call_id).filter(Boolean);
    const shown = await cardwire("context", "show", calls[0], "--project", "research");
    const card = shown.entries.find((entry) => entry.layer === "query" || entry.layer === "checkpoint") ?? shown.entries[0];
    const box = (await cardwire("turn", "get", principal, "--project", "research")).output_box_id;
    const gone = await told("card", "put", "--project", "research", "--type", "task.instruction", "--text", "gone");
    await told("card", "delete", gone, "--project", "research", "--yes").catch(() => told("card", "delete", gone, "--project", "research"));
    pages = {
      projects: "/inspect", session: "/inspect/session", runs: "", run: `/runs/${root}`, turn: `/turns/${principal}`, asked: `/turns/${turn("painter")}`,
      call: `/calls/${calls[1]}?sel=${card.card_id}`, bytes: `/calls/${calls[1]}?tab=bytes`, manifest: `/calls/${calls[1]}?tab=manifest`,
      answer: `/calls/${calls[1]}?tab=answer`, diff: `/diff?l=${calls[0]}&r=${calls[1]}`, why: `/why?call=${calls[1]}&card=${card.card_id}`,
      card: `/cards/${card.card_id}`, "deleted card": `/cards/${gone}`, box: `/boxes/${box}`, search: "/search?q=tables", "empty search": "/search?q=zzz",
      graph: `/runs/${root}?view=graph`, "in time": `/runs/${root}?view=time&sel=${principal}`, past: `/runs/${root}?at=1`, replay: `/turns/${principal}/replay`,
      handover: `/handovers/${turn("searcher_tables") ?? principal}`, batches: "/batches", agent: "/agents/principal", sessions: "/sessions", session_page: "/sessions/boat",
      handoffs: "/handoffs", teams: "/teams", team: "/teams/research", recipes: "/recipes", knowledge: "/knowledge", more: "/more", system: "/inspect/system",
      verified: "/audit?verify=yes", cost: "/cost?by=layer", "cost by card": "/cost?by=card", agents: "/agents", events: "/events", audit: "/audit", missing: "/nowhere",
    };
  });

  const visit = (to, path) => to.goto(path.startsWith("/inspect") ? path : `/inspect/p/research${path}`);
  /** What axe finds on a page in both themes, in one line each. */
  const found = async (to, name) => {
    await to.evaluate(axe.source);
    const all = [];
    for (const colorScheme of ["light", "dark"]) {
      await to.emulateMedia({ colorScheme });
      const nodes = await to.evaluate(async (tags) => {
        const { violations } = await window.axe.run(document, { runOnly: tags, resultTypes: ["violations"] });
        return violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target} ${node.failureSummary.split("\n")[1]}`));
      }, TAGS);
      all.push(...nodes.map((node) => `${name}, ${colorScheme}: ${node}`));
    }
    console.log(`axe: ${name}`);
    return all;
  };

  /** What is wrong: barriers, pages that are wider than a phone, and links with the page that has them. */
  const barriers = [], wide = [], links = new Map();
  await part("all pages are seen", () => watch.expecting([/404/], async () => {
    for (const [name, path] of Object.entries(pages)) {
      await visit(page, path);
      barriers.push(...await found(page, name));
      await page.setViewportSize(PHONE);
      const by = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (by > 0) wide.push(`${name}: ${by} px`);
      await page.setViewportSize(DESK);
      const hrefs = await page.evaluate(() => [...document.querySelectorAll("a[href], link[href]")].map((link) => new URL(link.getAttribute("href"), location.href).href.split("#")[0]));
      hrefs.filter((href) => !href.endsWith(pages.missing)).forEach((href) => links.set(href, name));
    }
    await visit(page, pages.runs);
    await page.keyboard.press("?");
    barriers.push(...await found(page, "keys"));
    // A session that may write is shown forms.
    await page.goto("/inspect/session");
    await page.getByRole("button", { name: "Let it write" }).click();
    await page.getByText("It may write").waitFor();
    for (const name of ["turn", "call", "box", "asked"]) {
      await visit(page, pages[name]);
      barriers.push(...await found(page, `${name}, writing`));
    }
    await page.keyboard.press("Control+k");
    barriers.push(...await found(page, "palette"));
    await page.keyboard.press("Escape");
    const outside = await guest();
    await outside.goto("/inspect/login");
    barriers.push(...await found(outside, "login"));
  }));
  await part("axe finds no barriers", async () => same(barriers, [], "barriers"));
  await part("nothing is wider than a phone", async () => same(wide, [], "pages that are too wide"));
  await part("every link leads somewhere", async () => {
    check(links.size > Object.keys(pages).length, "pages have links");
    const dead = [];
    for (const [href, name] of links) {
      const status = await page.evaluate(async (href) => (await fetch(href)).status, href);
      if (status !== 200) dead.push(`${name}: ${status} from ${href}`);
    }
    same(dead, [], `dead links of ${links.size}`);
  });
});
