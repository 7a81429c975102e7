// What every journey uses: a browser that is watched, people who are signed in, commands, and patience.
//
// A journey is a program that the Rust tests start (browser.rs). It prints requests as lines of JSON, `{"do": …}`, and reads an
// answer from its input for each: so commands, and servers that are killed, are the test's, and end with it.
//
// Everything that a browser complains of fails the journey: errors on the console, breaches of the policy, requests to another
// origin, failed requests. A journey that means one to happen says so with `watch.expecting`.

import { createRequire } from "node:module";
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";

const load = createRequire(`${process.env.CARDWIRE_TEST_NODE_MODULES}/`);
const { chromium } = load("playwright-core");
export const axe = load("axe-core");

/** Where the server is, `http://127.0.0.1:PORT`. */
export const server = process.env.JOURNEY_SERVER;
/** A token for everything. */
export const token = process.env.JOURNEY_TOKEN;
/** Far more than anything needs, also on a busy machine. */
const PATIENCE = 20_000;
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
let asked = Promise.resolve();
/** Asks the test to do something; one request after the other. */
function ask(request) {
  const answer = asked.then(async () => {
    process.stdout.write(`${JSON.stringify(request)}\n`);
    const told = JSON.parse((await answers.next()).value);
    if (told.error) throw new Error(`${JSON.stringify(request)}: ${told.error}`);
    return told.ok;
  });
  asked = answer.catch(() => {});
  return answer;
}
/** Runs a command to its end. What it printed. */
export const told = (...args) => ask({ do: "cardwire", args });
/** Runs a command with `--json`. */
export const cardwire = async (...args) => JSON.parse(await told(...args, "--json"));
/** Starts a command that goes on in the background. */
export const begin = (...args) => ask({ do: "begin", args });
/** Writes a file where commands run. */
export const file = (name, text) => ask({ do: "file", name, text });
/** Ends the server without a warning. */
export const kill = () => ask({ do: "kill" });
/** Starts it again at the same address. */
export const up = () => ask({ do: "up" });

/** The path of an example that comes with Cardwire. */
export const example = (name) => `${process.env.JOURNEY_EXAMPLES}/${name}`;
export const sha256 = (text) => createHash("sha256").update(text).digest("hex");

export function check(holds, what) {
  if (!holds) throw new Error(what);
}
export function same(found, expected, what) {
  check(JSON.stringify(found) === JSON.stringify(expected), `${what}: found ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
}

/** Asks again and again until there is an answer. */
export async function eventually(what, look) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await look();
    if (found) return found;
    check(Date.now() < end, `${what}: not within ${PATIENCE} ms`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** What the browser complained of. */
export class Watch {
  complaints = [];
  /** Every request, newest last. */
  requests = [];
  #expected = [];

  #complain(text) {
    if (!this.#expected.some((pattern) => pattern.test(text))) this.complaints.push(text);
  }

  /** While this is done, complaints like these are meant. */
  async expecting(patterns, work) {
    this.#expected = patterns;
    try {
      return await work();
    } finally {
      this.#expected = [];
    }
  }

  over(context) {
    context.on("console", (message) => {
      if (message.type() === "error") this.#complain(`console at ${message.page()?.url()}: ${message.text()}`);
    });
    context.on("weberror", (error) => this.#complain(`a script failed: ${error.error().stack}`));
    context.on("dialog", (dialog) => {
      this.#complain(`a script opened a dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    context.on("request", (request) => {
      this.requests.push(request);
      if (!request.url().startsWith(`${server}/inspect`)) this.#complain(`a request to ${request.url()}`);
    });
    context.on("response", (response) => {
      if (response.status() >= 400) this.#complain(`${response.status()} from ${response.url()}`);
    });
    context.on("requestfailed", (request) => {
      // Who leaves a page ends what it reads, and who goes on before a page has come ends that.
      const left = request.failure()?.errorText === "net::ERR_ABORTED";
      if (!left) this.#complain(`${request.method()} ${request.url()}: ${request.failure()?.errorText}`);
    });
    // Breaches are told to the document; this carries them out of it. The page's own policy does not apply to it.
    return context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`policy: ${event.effectiveDirective} of ${event.blockedURI} at ${event.sourceFile}:${event.lineNumber}`);
      });
    });
  }
}

/** A browser's profile that is nobody's yet. */
async function profile(browser, watch, options) {
  const context = await browser.newContext({ baseURL: server, viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(PATIENCE);
  await watch.over(context);
  return context;
}

/**
 * Runs a journey. Its parts are told with how long they took.
 * @param {(tools: { watch: Watch, part: Function, guest: Function, visitor: Function }) => Promise<void>} travel
 */
export async function journey(travel) {
  const watch = new Watch();
  const browser = await chromium.launch({
    executablePath: process.env.CARDWIRE_TEST_CHROMIUM, args: FLAGS, handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false,
  });
  const contexts = [];
  let at = "start";
  /** A part of the journey, named by what holds after it. */
  const part = async (name, work) => {
    const begun = Date.now();
    at = name;
    await work();
    same(watch.complaints, [], `${name}: complaints`);
    console.log(`${name}: ${Date.now() - begun} ms`);
  };
  const guest = async (options = {}) => {
    const context = await profile(browser, watch, options);
    contexts.push(context);
    return context.newPage();
  };
  /** Somebody who is signed in, with a page in front of them. */
  const visitor = async (project, options = {}) => {
    const page = await guest(options);
    await page.goto(`/inspect/login?target=/inspect/p/${project}`);
    await page.getByLabel("Access token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`/inspect/p/${project}`);
    return page;
  };
  try {
    await travel({ watch, part, guest, visitor });
  } catch (error) {
    console.error(`${at}: ${error.stack}`);
    for (const page of contexts.flatMap((context) => context.pages())) {
      const shown = await page.locator("body").ariaSnapshot({ timeout: 1_000 }).catch((error) => error.message);
      console.error(`--- ${page.url()}\n${shown.slice(0, 3_000)}`);
    }
    console.error(`--- complaints: ${JSON.stringify(watch.complaints)}`);
    process.exitCode = 1;
  } finally {
    await browser.close();
    process.stdin.destroy();
  }
}
