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

// Ids are copied by a click, and texts by their button.
document.addEventListener("click", (event) => {
  const clicked = /** @type {Element} */ (event.target);
  const id = clicked.closest?.("[data-copy]");
  if (id instanceof HTMLElement && id.dataset.copy) copy(id.dataset.copy);
  const button = clicked.closest?.("[data-copy-text]");
  if (button instanceof HTMLElement && button.dataset.copyText) copy(one(button.dataset.copyText)?.textContent ?? "");
});
/** @param {string} text */
const copy = (text) => { navigator.clipboard?.writeText(text).catch(() => {}); };

// The scrubber goes where it is let go.
document.addEventListener("change", (event) => {
  const input = /** @type {Element} */ (event.target);
  if (input instanceof HTMLInputElement && input.type === "range") input.form?.requestSubmit();
});

// Rows: j and k move, h and l go to parent and child, space folds a subtree, Enter opens.
const rows = () => all("[data-tree] tbody tr, [data-list] tbody tr, a.piece[href]").filter((row) => !row.hidden);
/** @param {HTMLElement} row */
const link = (row) => (row instanceof HTMLAnchorElement ? row : one("a[href]", row));
let at = rows().findIndex((row) => row.matches(".chosen"));
/** @param {number} to */
function stand(to) {
  const list = rows();
  if (!list.length) return;
  at = Math.max(0, Math.min(list.length - 1, to));
  link(list[at])?.focus();
  list[at].scrollIntoView({ block: "nearest" });
}
/** The place of the row that has the focus, or of the one that had it last. */
function here() {
  const list = rows();
  const focused = list.findIndex((row) => row.contains(document.activeElement));
  return focused >= 0 ? focused : at;
}
/** How deep a row of a tree is. @param {HTMLElement} row */
const depth = (row) => Number(/\bd(\d)\b/.exec(one("td > div", row)?.className ?? "")?.[1] ?? 0);
function toParent() {
  const list = rows();
  for (let place = here() - 1; place >= 0; place--) {
    if (depth(list[place]) < depth(list[here()])) return stand(place);
  }
  one("a[data-parent], .crumbs li:nth-last-child(2) a")?.click();
}
function toChild() {
  const [list, place] = [rows(), here()];
  if (list[place + 1] && depth(list[place + 1]) > depth(list[place])) stand(place + 1);
}
function fold() {
  const row = rows()[here()];
  if (!row) return;
  const all_rows = all("[data-tree] tbody tr");
  const folds = row.dataset.folded !== "yes";
  for (let place = all_rows.indexOf(row) + 1; place < all_rows.length && depth(all_rows[place]) > depth(row); place++) {
    all_rows[place].hidden = folds;
    if (!folds) delete all_rows[place].dataset.folded;
  }
  row.dataset.folded = folds ? "yes" : "no";
}
// The pane beside the work, and the size of everything.
const peek = () => { const pane = one("aside.peek"); if (pane) pane.hidden = !pane.hidden; };
/** @param {number} by */
function zoom(by) {
  const size = by === 0 ? 1 : Math.min(2, Math.max(0.6, Number(document.documentElement.style.zoom || 1) + by));
  document.documentElement.style.zoom = String(size);
}

/** The places that a key leads to. @type {Record<string, [string, string]>} */
const PLACES = {
  r: ["", "Runs"], c: ["/cost", "Cost"], e: ["/events", "Events"], a: ["/audit", "Audit"], s: ["/search", "Cards"],
  g: ["/agents", "Agents"], t: ["/teams", "Teams"], p: ["/recipes", "Recipes"], k: ["/knowledge", "Knowledge"], m: ["/sessions", "Sessions"],
};
/** @type {[string, string][]} */
const KEYS = [
  ["Ctrl K", "go to any id, agent or page, or do something"], ["/", "find"], ["j k", "next and previous row"], ["h l", "parent and child"],
  ["space", "fold and unfold a subtree"], ["Enter", "open"], ["o", "open the selected turn or card"], ["p", "show and hide the pane"],
  ["[ ]", "previous and next call"], ["d", "compare with the previous call"], ["w", "why is it here"], ["f", "follow or stop following"],
  ["= - 0", "larger, smaller, as it was"], ["y", "copy the link"], ["g r, g c, g e …", "go to runs, cost, events"], ["?", "these keys"],
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
    if (project && event.key in PLACES) location.assign(base + PLACES[event.key][0]);
    return;
  }
  // A button or a link that has the focus keeps its own keys.
  if (event.key === " " && target.closest("button, summary, abbr")) return;
  /** @param {string} selector */
  const follow = (selector) => one(selector)?.click();
  const actions = /** @type {Record<string, () => void>} */ ({
    j: () => stand(here() + 1),
    k: () => stand(here() - 1),
    h: toParent,
    l: toChild,
    " ": fold,
    p: peek,
    g: () => { goes = true; },
    "[": () => follow('a[rel="prev"]'),
    "]": () => follow('a[rel="next"]'),
    d: () => follow('.acts a[href*="/diff"], .peek a[href*="/diff"]'),
    w: () => follow('a[href*="/why"]'),
    o: () => { const open = one(".chosen[data-open], .chosen [data-open]")?.dataset.open; if (open) location.assign(open); },
    f: () => toggle(),
    y: () => copy(location.href),
    "=": () => zoom(0.1),
    "-": () => zoom(-0.1),
    "0": () => zoom(0),
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

/** What can be done and where one can go from here: what the page itself offers, and the parts of the project.
 *  @returns {{ name: string, what: string, go: () => void }[]} */
function choices() {
  const offered = all(".acts a, .acts button, .peek a.button, .rail a").filter((act) => act.textContent?.trim());
  const acts = offered.map((act) => ({ name: act.textContent?.trim() ?? "", what: "here", go: () => act.click() }));
  const places = Object.values(PLACES).map(([path, name]) => ({ name, what: "go", go: () => location.assign(base + path) }));
  const agents = new Map(all("[data-tree] tbody a, [data-list] a.title").map((found) => [found.textContent?.trim() ?? "", found]));
  const found = [...agents].map(([name, anchor]) => ({ name, what: "open", go: () => anchor.click() }));
  return [...acts, ...places, ...found];
}

function palette() {
  const input = /** @type {HTMLInputElement} */ (make("input", { type: "search", name: "q", placeholder: "Any id, agent, text or act", "aria-label": "Find", autocomplete: "off" }));
  const list = make("ul", { class: "choices" });
  const known = choices();
  let chosen = -1;
  /** @type {typeof known} */
  let shown = [];
  const draw = () => {
    const wanted = input.value.trim().toLowerCase();
    shown = known.filter(({ name }) => name.toLowerCase().includes(wanted)).slice(0, 9);
    list.replaceChildren(...shown.map(({ name, what, go }, place) => {
      const button = make("button", { type: "button", "aria-current": String(place === chosen) }, make("span", {}, name), make("span", { class: "soft" }, what));
      button.addEventListener("click", () => { one("dialog")?.remove(); go(); });
      return make("li", {}, button);
    }));
  };
  input.addEventListener("input", () => { chosen = -1; draw(); });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    chosen = Math.max(-1, Math.min(shown.length - 1, chosen + (event.key === "ArrowDown" ? 1 : -1)));
    draw();
  });
  const form = make("form", { action: `${base}/search` }, input, list);
  form.addEventListener("submit", (event) => {
    if (chosen < 0) return;
    event.preventDefault();
    const { go } = shown[chosen];
    one("dialog")?.remove();
    go();
  });
  open(form);
  draw();
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
