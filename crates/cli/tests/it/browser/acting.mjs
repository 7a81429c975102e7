// A person lets the session write, answers what an agent asks, and stops a run that takes too long (IN-04, IN-11).

import { begin, check, eventually, file, journey, same } from "./support.mjs";

const TEAM = {
  name: "asking", process: "sequential",
  agents: [{ id: "painter", profile: { system_prompt: "You paint." } }],
  model: { provider: "scripted", script: { rules: [
    { match: { agent: "painter", step: 1 }, tool_calls: [{ name: "ask_human", arguments: { question: "Which colour?" } }] },
    { match: { agent: "painter", role: "tool", contains: "Red" }, reply: "Red it is." },
  ] } },
};
const SLOW = {
  name: "slow", process: "sequential",
  agents: [{ id: "thinker", profile: { system_prompt: "You think." } }],
  model: { provider: "scripted", script: { rules: [{ match: { agent: "thinker" }, delay_ms: 600_000, reply: "Late." }] } },
};
await file("asking.yaml", JSON.stringify(TEAM));
await file("slow.yaml", JSON.stringify(SLOW));

await journey(async ({ part, visitor }) => {
  await begin("project", "create", "acts");
  const page = await eventually("the project is there", async () => visitor("acts").catch(() => null));
  const asks = page.locator(".card", { hasText: "Which colour?" });
  const row = (name) => page.locator("tbody tr", { hasText: name });

  await part("a question appears on the open page", async () => {
    await begin("run", "asking.yaml", "Paint the boat.", "--project", "acts");
    await asks.waitFor();
    check(await asks.locator("form").count() === 0, "a session that only reads is given no form");
  });

  await part("it is answered when the session may write", async () => {
    await asks.getByRole("link", { name: "Let it write" }).click();
    await page.getByRole("button", { name: "Let it write" }).click();
    await page.getByText("It may write").waitFor();
    await page.goto("/inspect/p/acts");
    await asks.getByLabel("Your answer").fill("Re");
    // What happens meanwhile does not take away what was typed.
    await begin("run", "slow.yaml", "Think about it.", "--project", "acts", "--session", "slow");
    await row("Think about it.").waitFor();
    await asks.getByLabel("Your answer").press("End");
    await page.keyboard.type("d");
    same(await asks.getByLabel("Your answer").inputValue(), "Red", "what was typed");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/turns/*");
    await page.goto("/inspect/p/acts");
    await row("Paint the boat.").getByText("delivered").waitFor();
    check(await asks.count() === 0, "the question is gone");
  });

  await part("a run that takes too long is stopped", async () => {
    await row("Think about it.").getByRole("link").click();
    await page.getByRole("link", { name: "thinker", exact: true }).waitFor();
    await page.locator('[aria-label="Selected"] h2 + a').click();
    await page.waitForURL("**/turns/*");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("stopped", { exact: true }).waitFor();
    check(await page.getByRole("button", { name: "Stop" }).count() === 0, "what has ended is not stopped");
    await page.goto("/inspect/p/acts");
    await row("Think about it.").getByText(/failed|canceled/).waitFor();
  });

  await part("a session that only reads again acts no more", async () => {
    await page.goto("/inspect/session");
    await page.getByRole("button", { name: "Read only" }).click();
    await page.getByText("It reads only").waitFor();
  });
});
