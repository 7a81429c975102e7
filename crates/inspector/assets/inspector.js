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
    o: () => {
      const open = one(".chosen[data-open]")?.dataset.open ?? one('tr.chosen a[href*="sel="]')?.getAttribute("href")?.replace(/.*sel=(turn_\w+).*/, `${base}/turns/$1`);
      if (open) location.assign(open);
    },
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

// Live: one stream per browser (IN-07). The tab that holds the lock reads it, and tells the others how far the log is. A tab knows
// how far the log was when its page was made: where it is further now, something is new. So nothing is missed or counted twice,
// whoever reads the stream, and however often it breaks.
const live = document.body.dataset.live;
/** How far the log was when this page was made, and how far it is now. */
let shown = Number(document.body.dataset.position ?? 0), heard = shown;
let following = true, stopped = false, changes = Boolean(live);
const RETRY = 2000;

/** @param {boolean} does */
function follow(does) {
  following = does;
  tidings();
  if (does) refresh();
}
function toggle() {
  stopped = false;
  follow(!following);
}

/** Says whether the page follows, and how much it does not show. */
function tidings() {
  const sign = one("[data-follow]");
  if (sign) sign.textContent = following ? "following" : "not following";
  const missing = following || !changes ? 0 : heard - shown;
  const button = one("[data-news]");
  if (!missing) return button?.parentElement?.remove();
  const text = `${missing} new event${missing === 1 ? "" : "s"}: follow again`;
  if (button) {
    button.textContent = text;
    return;
  }
  const news = make("button", { type: "button", class: "primary", "data-news": "" }, text);
  news.addEventListener("click", () => {
    if (one("[data-list]")) scrollTo(0, 0);
    follow(true);
  });
  one("main")?.append(make("p", { class: "news", role: "status" }, news));
}

// A reader who leaves the place where news come is not disturbed: the top of a list that begins with the newest, the end of a run.
const root = document.documentElement;
let place = { y: scrollY, height: root.scrollHeight };
const isAtEnd = () => scrollY + innerHeight > root.scrollHeight - 40;
if (live) addEventListener("scroll", () => {
  const newestFirst = one("[data-list]") !== null;
  const isHome = newestFirst ? scrollY < 40 : isAtEnd();
  const by = newestFirst ? scrollY - place.y : place.y - scrollY;
  // A page that changes its height moves by itself.
  const byReader = root.scrollHeight === place.height;
  place = { y: scrollY, height: root.scrollHeight };
  if (isHome && !following && stopped) follow(true);
  if (!isHome && following && byReader && by > 0) {
    stopped = true;
    follow(false);
  }
}, { passive: true });

let due = 0, loading = false, leaving = false;
/** Loads the page anew soon; what happens until then comes with it. */
function refresh() {
  if (!following || !changes || document.hidden || due || loading || heard <= shown) return;
  due = window.setTimeout(load, 150);
}
/** Trusted types allow no parsing of text, but a request may answer with a document. */
function load() {
  due = 0;
  if (leaving) return;
  loading = true;
  const request = new XMLHttpRequest();
  request.open("GET", location.href);
  request.responseType = "document";
  request.onload = () => {
    const page = request.responseXML;
    if (!page || request.status >= 500 || request.status === 429) return;
    // The session has ended, and the page to sign in on knows the way back; or the page is not there any more, and says so.
    const isAsked = new URL(request.responseURL).pathname === "/inspect/login";
    // A reader who left while the page was on its way is not disturbed either.
    if (request.status === 200 && !isAsked) return following ? show(page) : tidings();
    leaving = true;
    location.assign(isAsked ? request.responseURL : location.href);
  };
  request.onloadend = () => {
    loading = false;
    if (heard > shown && following && changes && !due) due = window.setTimeout(load, RETRY);
  };
  request.send();
}
/** @param {Document} page */
function show(page) {
  const keepsEnd = !one("[data-list]") && scrollY > 0 && isAtEnd();
  for (const selector of [".head", ".cols", ".scrub"]) {
    const [then, now] = [document.querySelector(selector), page.querySelector(selector)];
    if (then && now) settle(then, now);
  }
  document.title = page.title;
  shown = Math.max(shown, Number(page.body.dataset.position ?? heard));
  heard = Math.max(heard, shown);
  changes = page.body.dataset.live !== undefined;
  if (keepsEnd) scrollTo(0, root.scrollHeight);
  tidings();
}

/** What a row or a link is about: it stays the same one when others come before it. @param {Node} node */
const key = (node) => !(node instanceof Element) ? null
  : node.id || node.getAttribute("data-key") || (node.matches("tr") ? node.querySelector("a[href]")?.getAttribute("href") : node.getAttribute("href"));
/** Makes an element like another, and leaves alone what is equal: focus, selection and what was typed stay.
 *  @param {Element} then @param {Element} now */
function settle(then, now) {
  if (then.isEqualNode(now)) return;
  for (const { name } of [...then.attributes]) if (!now.hasAttribute(name) && name !== "open") then.removeAttribute(name);
  for (const { name, value } of [...now.attributes]) if (then.getAttribute(name) !== value) then.setAttribute(name, value);
  const wanted = new Set([...now.children].map(key));
  /** @type {Map<string, Element>} */
  const known = new Map();
  for (const child of [...then.children]) {
    const name = key(child);
    if (name && !wanted.has(name)) child.remove();
    else if (name && !known.has(name)) known.set(name, child);
  }
  const held = new Set(known.values());
  let at = then.firstChild;
  for (const child of [...now.childNodes]) {
    const name = key(child), same = name ? known.get(name) : undefined;
    if (name) known.delete(name);
    if (same && same.nodeName === child.nodeName) {
      if (same === at) at = at.nextSibling;
      else then.insertBefore(same, at);
      settle(same, /** @type {Element} */ (child));
    } else if (at instanceof Element && child instanceof Element && !held.has(at) && at.nodeName === child.nodeName) {
      const next = at.nextSibling;
      settle(at, child);
      at = next;
    } else if (at instanceof Text && child instanceof Text) {
      if (at.data !== child.data) at.data = child.data;
      at = at.nextSibling;
    } else {
      then.insertBefore(document.importNode(child, true), at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** @typedef {{ last?: number, away?: boolean, hello?: boolean, retry?: boolean }} News */
if (live) {
  const channel = new BroadcastChannel(`cardwire:${live}`);
  /** @type {EventSource | null} */
  let stream = null;
  let again = 0, leads = false, isAway = false;
  /** @param {News} news */
  const take = ({ last, away }) => {
    if (away !== undefined && away !== isAway) gone(isAway = away);
    if (last === undefined || last <= heard) return;
    heard = last;
    if (following) refresh();
    else tidings();
  };
  /** @param {News} news */
  const tell = (news) => {
    channel.postMessage(news);
    take(news);
  };
  const connect = () => {
    clearTimeout(again);
    stream?.close();
    const opened = stream = new EventSource(`/inspect/p/${live}/stream?after=${heard}`);
    for (const kind of (document.body.dataset.kinds ?? "").split(" ")) {
      opened.addEventListener(kind, (event) => tell({ last: Number(event.lastEventId) }));
    }
    opened.onopen = () => tell({ last: heard, away: false });
    opened.onerror = () => {
      tell({ away: true });
      // The browser comes back by itself, with the last id, from a connection that broke. An answer that is no stream ends it: a
      // session that has ended, or a server in trouble; the page tells which.
      if (opened.readyState !== EventSource.CLOSED) return;
      load();
      again = window.setTimeout(connect, RETRY);
    };
  };
  /** @param {boolean} is */
  const gone = (is) => {
    one("[data-gone]")?.remove();
    if (!is) return;
    const retry = make("button", { type: "button" }, "Try now");
    retry.addEventListener("click", () => leads ? connect() : channel.postMessage({ retry: true }));
    const text = `The server does not answer. The last event that came is ${heard}. This page tries again by itself. `;
    one("main")?.prepend(make("p", { class: "banner", role: "status", "data-gone": "" }, text, retry));
  };
  channel.onmessage = ({ data }) => {
    if (data.hello && leads) channel.postMessage({ last: heard, away: isAway });
    else if (data.retry && leads) connect();
    else take(data);
  };
  channel.postMessage({ hello: true });
  document.addEventListener("visibilitychange", refresh);
  const lead = () => {
    leads = true;
    connect();
  };
  // Without TLS, other machines have no locks: then a tab reads for itself, while somebody looks at it.
  if (navigator.locks) navigator.locks.request(`cardwire:${live}`, () => new Promise(lead));
  else {
    document.addEventListener("visibilitychange", () => document.hidden ? stream?.close() : lead());
    if (!document.hidden) lead();
  }
}
