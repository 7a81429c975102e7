// @ts-check
// Keys, the palette, copying and live updates. Every page works without this file (IN-02).

/** @param {string} selector @param {ParentNode} [within] */
const one = (selector, within = document) => /** @type {HTMLElement | null} */ (within.querySelector(selector));
/** @param {string} selector */
const all = (selector) => /** @type {HTMLElement[]} */ ([...document.querySelectorAll(selector)]);
const project = document.body.dataset.project;
const base = project ? `/inspect/p/${project}` : "/inspect";

// Signing in with the code of the address: it is posted and taken out of the address.
const login = /** @type {HTMLFormElement | null} */ (one("form[data-login]"));
if (login && location.hash.length > 1) {
  const code = /** @type {HTMLInputElement} */ (login.elements.namedItem("code"));
  code.value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname + location.search);
  login.submit();
}

// Ids are copied by a click.
document.addEventListener("click", (event) => {
  const id = /** @type {HTMLElement} */ (event.target).closest?.("[data-copy]");
  if (id instanceof HTMLElement && id.dataset.copy) navigator.clipboard?.writeText(id.dataset.copy);
});

// Rows: j and k move, Enter opens.
const rows = () => all("[data-tree] tbody tr, [data-list] tbody tr, a.piece[href]");
/** @param {HTMLElement} row */
const link = (row) => (row instanceof HTMLAnchorElement ? row : one("a[href]", row));
let at = rows().findIndex((row) => row.matches(".chosen"));
/** @param {number} by */
function move(by) {
  const list = rows();
  if (!list.length) return;
  at = Math.max(0, Math.min(list.length - 1, at + by));
  link(list[at])?.focus();
  list[at].scrollIntoView({ block: "nearest" });
}

/** The places that a key leads to. @type {Record<string, string>} */
const PLACES = { r: "", c: "/cost", e: "/events", a: "/audit", s: "/search" };
/** @type {[string, string][]} */
const KEYS = [
  ["Ctrl K", "find anything"], ["/", "filter"], ["j k", "next and previous row"], ["Enter", "open"], ["o", "open the selected turn or card"],
  ["[ ]", "previous and next call"], ["d", "compare with the previous call"], ["w", "why is it here"], ["f", "follow or stop following"],
  ["y", "copy the link"], ["g r, g c, g e", "go to runs, cost, events"], ["?", "these keys"],
];
let goes = false;
document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if ((event.ctrlKey || event.metaKey) && event.key === "k" && project) {
    event.preventDefault();
    palette();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog")) return;
  if (goes) {
    goes = false;
    if (event.key in PLACES) location.assign(base + PLACES[event.key]);
    return;
  }
  /** @param {string} selector */
  const follow = (selector) => one(selector)?.click();
  const actions = /** @type {Record<string, () => void>} */ ({
    j: () => move(1),
    k: () => move(-1),
    g: () => { goes = true; },
    "[": () => follow('a[rel="prev"]'),
    "]": () => follow('a[rel="next"]'),
    d: () => follow('.acts a[href*="/diff"], .peek a[href*="/diff"]'),
    w: () => follow('a[href*="/why"]'),
    o: () => { const open = one(".chosen[data-open], .chosen [data-open]")?.dataset.open; if (open) location.assign(open); },
    f: () => toggle(),
    y: () => { navigator.clipboard?.writeText(location.href); },
    "/": () => one('input[type="search"]')?.focus(),
    "?": () => keys(),
  });
  if (event.key in actions) {
    event.preventDefault();
    actions[event.key]();
  }
});

/** @param {string} name @param {Record<string, string>} [attributes] @param {...(Node | string)} children */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** @param {HTMLElement} content */
function open(content) {
  const dialog = /** @type {HTMLDialogElement} */ (make("dialog", {}, content));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function keys() {
  const list = KEYS.map(([key, what]) => make("tr", {}, make("td", {}, make("kbd", {}, key)), make("td", {}, what)));
  open(make("div", { class: "keys" }, make("h2", {}, "Keys"), make("table", { class: "plain" }, make("tbody", {}, ...list))));
}

function palette() {
  const input = /** @type {HTMLInputElement} */ (make("input", { type: "search", name: "q", placeholder: "Any id, agent or text", "aria-label": "Find" }));
  open(make("form", { action: `${base}/search` }, input));
  input.focus();
}

// Live: one stream per browser. The tab that holds the lock reads it and tells the others.
const live = document.body.dataset.live;
let following = true;
const sign = one("[data-follow]");
function toggle() {
  following = !following;
  if (sign) sign.textContent = following ? "following" : "not following";
  if (following) refresh();
}
let due = 0;
/** Loads the page anew, and puts what changed in its place: the reader keeps the place. Trusted types allow no parsing of text,
 *  but a request may answer with a document. */
function refresh() {
  if (!following || document.hidden) return;
  clearTimeout(due);
  due = window.setTimeout(() => {
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    request.onerror = () => gone(true);
    request.onload = () => {
      const page = request.responseXML;
      gone(request.status >= 500);
      if (request.status !== 200 || !page) return;
      for (const selector of [".head", ".cols", ".scrub"]) {
        const [now, then] = [page.querySelector(selector), document.querySelector(selector)];
        if (now && then) then.replaceWith(document.importNode(now, true));
      }
    };
    request.send();
  }, 150);
}
/** @param {boolean} is */
function gone(is) {
  const banner = one("[data-gone]");
  if (!is) banner?.remove();
  else if (!banner) one("main")?.prepend(make("p", { class: "banner", role: "status", "data-gone": "" }, "The server does not answer. This page tries again by itself."));
}
if (live) {
  const channel = new BroadcastChannel(`cardwire:${live}`);
  channel.onmessage = () => refresh();
  navigator.locks?.request(`cardwire:${live}`, () => new Promise(() => {
    const stream = new EventSource(`/inspect/p/${live}/stream`);
    for (const kind of (document.body.dataset.kinds ?? "").split(" ")) {
      stream.addEventListener(kind, () => { channel.postMessage(0); refresh(); });
    }
    stream.onerror = () => gone(true);
    stream.onopen = () => gone(false);
  }));
}
