// Opens pages of the inspector in Chromium and tells how long that took, as JSON on standard output. What is wanted comes as
// JSON in the only argument.

import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";

const wanted = JSON.parse(process.argv[2]);
const { chromium } = createRequire(`${wanted.modules}/`)("playwright-core");

const browser = await chromium.launch({ executablePath: wanted.chromium, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
const [name, value] = [wanted.cookie.slice(0, wanted.cookie.indexOf("=")), wanted.cookie.slice(wanted.cookie.indexOf("=") + 1)];
await context.addCookies([{ name, value, url: `${wanted.base}/inspect`, sameSite: "Strict", httpOnly: true }]);
// A page can be read when a frame was drawn after all of it was loaded.
await context.addInitScript(() => {
  addEventListener("load", () => requestAnimationFrame(() => requestAnimationFrame(() => { window.ready = performance.now(); })));
});

/** Opens a page and answers how long it took until it could be read. */
async function opened(page, path) {
  await page.goto(wanted.base + path, { waitUntil: "load" });
  await page.waitForFunction(() => window.ready);
  return page.evaluate(() => window.ready);
}

/** The time between two frames while a person turns the wheel. */
async function scrolled(page) {
  await page.mouse.move(600, 500);
  await page.evaluate(() => {
    window.frames_ = [];
    let last = performance.now();
    const next = (now) => { window.frames_.push(now - last); last = now; requestAnimationFrame(next); };
    requestAnimationFrame((now) => { last = now; requestAnimationFrame(next); });
  });
  const begun = await page.evaluate(() => scrollY);
  for (let turn = 0; turn < 90; turn += 1) {
    await page.mouse.wheel(0, 1200);
    await sleep(16);
  }
  if (await page.evaluate(() => scrollY) === begun) throw new Error(`${page.url()} does not scroll`);
  return page.evaluate(() => window.frames_);
}

/** Asks the API for something, as a worker does. */
async function asked(path, body) {
  const headers = { authorization: `Bearer ${wanted.token}`, "content-type": "application/json" };
  const answer = await fetch(wanted.base + path, { method: "POST", body: JSON.stringify(body), headers });
  if (!answer.ok) throw new Error(`${path} was refused: ${await answer.text()}`);
  return answer.json();
}

const pages = [];
for (const { path, scrolls } of wanted.pages) {
  const ready = [];
  let frames = [];
  for (let round = 0; round < wanted.rounds; round += 1) {
    const page = await context.newPage();
    ready.push(await opened(page, path));
    if (scrolls && round === wanted.rounds - 1) frames = await scrolled(page);
    await page.close();
  }
  pages.push({ ready, frames });
}

const pixels = [];
if (wanted.live) {
  const { project, agent, context_box } = wanted.live;
  const { agent_turn_id } = await asked(`/projects/${project}/l0/turns`, { agent_id: agent, context_box_id: context_box });
  await asked("/l0/claim", { worker_target: "bench", worker_id: "bench", start: true, projects: [project] });
  const page = await context.newPage();
  await opened(page, `/inspect/p/${project}/runs/${agent_turn_id}`);
  // The stream of events is opened after the page.
  await sleep(1000);
  for (let round = 0; round < wanted.rounds; round += 1) {
    const seen = page.evaluate(() => new Promise((resolve) => {
      const shown = () => document.querySelector(".scrub")?.textContent;
      const then = shown();
      const watch = new MutationObserver(() => {
        if (shown() === then) return;
        watch.disconnect();
        requestAnimationFrame(() => requestAnimationFrame(() => resolve(Date.now())));
      });
      watch.observe(document.body, { subtree: true, childList: true, characterData: true });
    }));
    // The page watches before something happens.
    await page.evaluate(() => 0);
    const begun = Date.now();
    const card = { turn_epoch: 1, content: `A boat is in: ${round}.`, metadata: { type: "agent.thought" } };
    await asked(`/projects/${project}/l0/turns/${agent_turn_id}/cards`, card);
    pixels.push(await Promise.race([seen, sleep(10000).then(() => { throw new Error("an event was never seen"); })]) - begun);
    await sleep(500);
  }
}
await browser.close();
console.log(JSON.stringify({ pages, pixels }));
