// Pages that are open follow the log: one stream for all tabs of a browser, whoever reads it; after the end of a server nothing is
// missing or doubled; a reader who looks at something else is not disturbed (IN-07, IN-11).

import { begin, cardwire, check, eventually, file, journey, kill, same, up } from "./support.mjs";

const TABS = 12;
const team = (delay) => JSON.stringify({
  name: "crew", process: "sequential",
  agents: ["first", "second", "third"].map((id) => ({ id, profile: { system_prompt: `You are ${id}.` } })),
  model: { provider: "scripted", script: { rules: [{ delay_ms: delay, reply: "Done." }] } },
});
await file("quick.yaml", team(1));
await file("slow.yaml", team(700));
await cardwire("run", "quick.yaml", "The first run.", "--project", "live");

await journey(async ({ watch, part, visitor }) => {
  const page = await visitor("live");
  const context = page.context();
  const streams = () => watch.requests.filter((request) => request.url().includes("/stream"));
  /** The questions of the runs that a page lists. */
  const listed = (tab) => tab.locator("tbody .title").allTextContents();
  const has = (tab, name) => tab.locator("tbody tr", { hasText: name });
  /** Marks a page: a page that was loaded anew as a whole has no mark. */
  const mark = (tab) => tab.evaluate(() => { window.isSame = true; });
  const isSame = (tab) => tab.evaluate(() => window.isSame === true);

  await part("a new run appears on the open page, which stays where it is", async () => {
    await mark(page);
    await page.keyboard.press("j");
    const focused = () => page.evaluate(() => document.activeElement.textContent);
    same(await focused(), "The first run.", "the focus");
    await begin("run", "quick.yaml", "The second run.", "--project", "live", "--session", "two");
    await has(page, "The second run.").getByText("delivered").waitFor();
    same(await listed(page), ["The second run.", "The first run."], "the list");
    same([await isSame(page), await focused()], [true, "The first run."], "the page and its focus");
  });

  await part("twelve tabs share one stream, and all of them follow", async () => {
    const before = streams().length;
    const tabs = [page, ...await Promise.all(Array.from({ length: TABS - 1 }, async () => {
      const tab = await context.newPage();
      await tab.goto("/inspect/p/live");
      return tab;
    }))];
    await Promise.all(tabs.map(mark));
    await cardwire("run", "quick.yaml", "The third run.", "--project", "live", "--session", "three");
    await Promise.all(tabs.map((tab) => has(tab, "The third run.").getByText("delivered").waitFor()));
    same([streams().length - before, await Promise.all(tabs.map(isSame))], [0, tabs.map(() => true)], "more streams");
    // The tab that reads the stream goes: another one takes over, from where it was.
    await page.goto("/inspect/session");
    await eventually("another tab reads on", () => streams().length === before + 1);
    await cardwire("run", "quick.yaml", "The fourth run.", "--project", "live", "--session", "four");
    const rest = tabs.slice(1);
    await Promise.all(rest.map((tab) => has(tab, "The fourth run.").getByText("delivered").waitFor()));
    same(await Promise.all(rest.map(isSame)), rest.map(() => true), "the pages");
    same(streams().length, before + 1, "streams");
    await Promise.all(rest.map((tab) => tab.close()));
  });

  await part("who scrolls away is left alone and told how much is new", async () => {
    await page.goto("/inspect/p/live/events");
    const rows = page.locator("tbody tr");
    const positions = async () => (await rows.locator("td:nth-child(2)").allTextContents()).map((text) => Number(text.replace(",", "")));
    const first = (await positions())[0];
    await page.mouse.move(600, 400);
    await page.mouse.wheel(0, 400);
    await page.getByText("not following").waitFor();
    await cardwire("run", "quick.yaml", "The fifth run.", "--project", "live", "--session", "five");
    const news = page.getByRole("button", { name: /new events: follow again/ });
    await news.waitFor();
    same((await positions())[0], first, "the first row");
    await news.click();
    await eventually("the news are there", async () => (await positions())[0] > first);
    await page.getByText("following", { exact: true }).waitFor();
    const found = await positions();
    same(found, found.map((_, at) => found[0] - at), "the positions");
  });

  await part("so is who scrolls up in a run, until the end is reached again", async () => {
    await page.setViewportSize({ width: 1280, height: 240 });
    await page.goto("/inspect/p/live");
    await begin("run", "slow.yaml", "The long run.", "--project", "live", "--session", "long");
    await has(page, "The long run.").getByRole("link").click();
    const rows = page.locator(".tree tbody tr");
    await page.getByRole("link", { name: "first", exact: true }).waitFor();
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.mouse.move(400, 100);
    await page.mouse.wheel(0, -120);
    await page.getByText("not following").waitFor();
    const before = await rows.count();
    await page.getByRole("button", { name: /new events?: follow again/ }).waitFor();
    same(await rows.count(), before, "the rows meanwhile");
    await page.mouse.wheel(0, 10_000);
    await page.getByText("following", { exact: true }).waitFor();
    await page.locator(".head").getByText("delivered").waitFor();
    check(await rows.count() > before, "what is new is there");
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await part("after the end of a server nothing is missing or doubled", async () => {
    await page.goto("/inspect/p/live");
    const log = await context.newPage();
    await log.goto("/inspect/p/live/events");
    await Promise.all([page, log].map(mark));
    await begin("run", "slow.yaml", "The run that survives.", "--project", "live", "--session", "six");
    await has(page, "The run that survives.").waitFor();
    await has(page, "The run that survives.").getByRole("link").click();
    await page.getByRole("link", { name: "first", exact: true }).waitFor();
    await mark(page);
    const broken = [/ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED_ENCODING/, /ERR_EMPTY_RESPONSE/, /ERR_CONNECTION_RESET/];
    await watch.expecting(broken, async () => {
      await kill();
      await Promise.all([page, log].map((tab) => tab.getByText("The server does not answer").waitFor()));
      await up();
      await Promise.all([page, log].map((tab) => tab.getByText("The server does not answer").waitFor({ state: "detached" })));
    });
    await page.locator(".head").getByText("delivered").waitFor();
    same(await Promise.all([page, log].map(isSame)), [true, true], "the pages");
    // A page that has followed shows what one that is opened now shows.
    const fresh = await context.newPage();
    const shown = (tab) => tab.locator(".tree tbody td:first-child").allTextContents();
    await fresh.goto(page.url());
    const expected = await shown(fresh);
    await eventually("the run is shown as it is", async () => JSON.stringify(await shown(page)) === JSON.stringify(expected));
    same(expected.filter((text) => /first|second|third/.test(text)).length, 3, "the turns");
    await fresh.goto("/inspect/p/live/events");
    const numbers = (tab) => tab.locator("tbody td:nth-child(2)").allTextContents();
    await eventually("the log is shown as it is", async () => JSON.stringify(await numbers(log)) === JSON.stringify(await numbers(fresh)));
    const found = (await numbers(log)).map((text) => Number(text.replace(",", "")));
    same(found, found.map((_, at) => found[0] - at), "the positions");
  });

  await part("a session that has ended leads to signing in, and back", async () => {
    await page.goto("/inspect/p/live");
    await context.clearCookies();
    await watch.expecting([/401/], async () => {
      await cardwire("run", "quick.yaml", "The last run.", "--project", "live", "--session", "seven");
      await page.waitForURL("**/inspect/login?target=/inspect/p/live");
    });
    check(await page.getByLabel("Access token").isVisible(), "the way in");
  });
});
