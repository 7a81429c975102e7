// A reader comes by the address that `cardwire open` prints, and finds out why an agent did not know something: with scripts,
// without them, and by keyboard alone (IN-02, IN-04, IN-05, IN-10).

import { readFileSync, writeFileSync } from "node:fs";
import { cardwire, check, eventually, example, journey, same, sha256, told } from "./support.mjs";

const QUESTION = "Where should our measurements be kept?";
const run = await cardwire("run", example("teams/research.yaml"), QUESTION, "--project", "research");

/** From the list of runs to the reason, by clicks alone. */
async function read(page) {
  await page.getByRole("link", { name: QUESTION }).click();
  await page.waitForURL(`**/runs/${run.agent_turn_id}`);
  await page.locator("h1", { hasText: QUESTION }).waitFor();
  await page.getByRole("link", { name: "searcher_tables", exact: true }).click();
  await page.waitForURL("**/runs/*?sel=*");
  const chosen = page.url();

  await page.getByRole("link", { name: "Open call" }).click();
  await page.waitForURL("**/calls/*");
  await page.locator("h1", { hasText: "What searcher_tables was sent" }).waitFor();
  const call = new URL(page.url()).pathname.split("/").pop();
  await page.getByRole("link", { name: "Bytes", exact: true }).click();
  await page.waitForURL("**?tab=bytes*");
  const bytes = page.locator("[data-sha256]");
  const shown = await bytes.textContent();
  const proven = sha256(await told("context", "show", call, "--render", "--project", "research"));
  same([sha256(shown), await bytes.getAttribute("data-sha256")], [proven, proven], "the bytes that are shown");

  await bytes.locator("a", { hasText: "How well do partitioned tables" }).first().click();
  await page.waitForURL("**sel=*");
  const story = page.getByRole("complementary", { name: "This card" });
  await story.getByRole("link", { name: "Open card" }).click();
  await page.waitForURL("**/cards/*");
  await page.locator("pre", { hasText: "How well do partitioned tables" }).waitFor();
  await page.getByRole("complementary").locator('a[href*="/boxes/"]').first().click();
  await page.waitForURL("**/boxes/*");
  await page.locator("a", { hasText: "How well do partitioned tables" }).first().waitFor();

  await page.goto(chosen);
  const withheld = page.locator(".note", { hasText: QUESTION });
  await withheld.getByRole("link", { name: "why?" }).click();
  await page.waitForURL("**/why?*");
  await page.getByText("not sent", { exact: true }).waitFor();
  await page.getByText("not_granted").first().waitFor();
  await page.getByText("context_box_id").waitFor();

  await page.goto(chosen);
  await page.getByRole("link", { name: "Compare with its sender" }).click();
  await page.waitForURL("**/diff?*");
  await page.locator("h1", { hasText: "What principal was shown, and what searcher_tables was" }).waitFor();
  await page.getByText("withheld ✕", { exact: true }).first().waitFor();
  const sides = await page.locator(".sides h3").allTextContents();
  await page.getByRole("link", { name: "Swap sides" }).click();
  await eventually("the sides are swapped", async () =>
    JSON.stringify(await page.locator(".sides h3").allTextContents()) === JSON.stringify(sides.toReversed()));
  return { chosen, call };
}

/** What assistive technology is told of a page, without what is different every time. */
async function told_of(page, name) {
  const heard = (await page.locator("main").ariaSnapshot())
    .replace(/[0-9a-f]{4}…[0-9a-f]{4}/g, "<id>").replace(/(turn_)?[0-9a-f]{32}/g, "<id>")
    .replace(/\d+ (seconds?|minutes?) ago|just now/g, "<when>").replace(/\d+(\.\d+)? (ms|s)\b/g, "<time>")
    .replace(/event \d+/g, "event <position>")
    // On a busy machine some turn waits for its worker.
    .replace(/(- heading "Worth a look".*\n)(    - paragraph.*\n(      .*\n)*)+/, "$1    - <notes>\n");
  const place = new URL(`golden/${name}.yaml`, import.meta.url);
  if (process.env.UPDATE_GOLDEN) writeFileSync(place, `${heard}\n`);
  const expected = readFileSync(place, "utf8").trimEnd().split("\n");
  const found = heard.split("\n");
  const line = found.findIndex((text, at) => text !== expected[at]);
  check(line < 0 && found.length === expected.length,
    `${name}: line ${line + 1} is not as in ${place.pathname} (UPDATE_GOLDEN=1 writes it anew):\n- ${expected[line]}\n+ ${found[line]}`);
}

await journey(async ({ watch, part, guest, visitor }) => {
  const page = await guest({ permissions: ["clipboard-read", "clipboard-write"] });
  await part("the address that `cardwire open` prints signs one browser in, once", async () => {
    const { url } = await cardwire("open", "--project", "research");
    await page.goto(url);
    await page.waitForURL("/inspect/p/research");
    const cookies = await page.context().cookies(`${page.url()}/`);
    same(cookies.map(({ httpOnly, sameSite, path }) => [httpOnly, sameSite, path]), [[true, "Strict", "/inspect"]], "the cookie");
    same(await page.evaluate(() => document.cookie), "", "what scripts see of it");
    const late = await guest();
    await watch.expecting([/401/], async () => {
      await late.goto(url);
      await late.getByText("This link was used already").waitFor();
    });
    await late.close();
  });

  let found;
  await part("from a run to a byte, a card, a box, a reason and both sides", async () => { found = await read(page); });

  await part("what assistive technology is told of a run and of a call", async () => {
    await page.goto(found.chosen);
    await told_of(page, "run");
    await page.goto(`/inspect/p/research/calls/${found.call}`);
    await told_of(page, "call");
  });

  await part("the same without scripts", async () => {
    const plain = await visitor("research", { javaScriptEnabled: false });
    same((await read(plain)).call, found.call, "the call");
    await plain.close();
  });

  await part("by keyboard alone", async () => {
    const keys = async (...names) => { for (const name of names) await page.keyboard.press(name); };
    /** What has the focus. */
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
    await page.goto("/inspect/p/research");
    await keys("Tab");
    same(await focused(), "Skip to the work", "the first stop");
    await keys("Enter", "Tab");
    same(await focused(), QUESTION, "the first stop in the work");
    await page.goto("/inspect/p/research");
    await keys("j", "Enter");
    await page.waitForURL("**/runs/*");
    // Down to the first call of the principal, and up again to the principal.
    await keys("j");
    const first = await focused();
    await keys("j");
    check((await focused()) !== first, "j moves on");
    await keys("k");
    same(await focused(), first, "k moves back");
    for (let row = 0; row < 40 && !/^call 1/.test(await focused()); row++) await keys("j");
    await keys("Enter");
    await page.waitForURL("**/calls/*");
    const one = page.url();
    await keys("]");
    await page.waitForURL((url) => /calls/.test(url.pathname) && url.href !== one);
    const two = page.url();
    await keys("[");
    await page.waitForURL(one);
    await page.goto(two);
    await keys("d");
    await page.waitForURL("**/diff?*");
    await page.goto(found.chosen);
    await keys("w");
    await page.waitForURL("**/why?*");
    await page.goto(found.chosen);
    await keys("?");
    await page.getByRole("dialog").getByText("previous and next call").waitFor();
    await keys("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await keys("y");
    await eventually("the link is copied", () => page.evaluate(async () => (await navigator.clipboard.readText()) === location.href));
    await keys("g", "c");
    await page.waitForURL("**/cost");
    await keys("/");
    check(await page.evaluate(() => document.activeElement?.matches('input[type="search"]')), "/ goes to the search");
    await page.goto("/inspect/p/research");
    await keys("Control+k");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("partitioned tables");
    await keys("Enter");
    await page.waitForURL("**/search?q=partitioned*");
    await page.locator("a", { hasText: "How well do partitioned tables" }).first().waitFor();
    check(await page.evaluate(() => !document.querySelector("input:focus")), "no field takes the keys");
  });
});
