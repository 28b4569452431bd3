// The part that all pages of the console share: numbers for people, the theme, the API key or the
// person who signed in, and small pieces of the document.
//
// The API key travels in a header, never in the URL, and stays in this tab. A person has a cookie
// in its place, which no script can read. Text from the server is only ever set as text.

const KEY = "stadium.key";
const THEME = "stadium.theme";
export const at = (id) => document.getElementById(id);
export const show = (id, text) => { at(id).textContent = text; };

// ---- Numbers for people

export const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
export const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

export const count = (n) => (n < 10_000_000 ? whole.format(n) : short.format(n));
export const rate = (n) => (n === 0 ? "0" : n < 9.95 ? n.toFixed(1) : n < 1_000_000 ? whole.format(n) : short.format(n));

export function ms(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1) return `${whole.format(value * 1000)} µs`;
  if (value < 10) return `${value.toFixed(1)} ms`;
  return value < 10_000 ? `${whole.format(value)} ms` : `${(value / 1000).toFixed(1)} s`;
}

export function bytes(value) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) { value /= 1024; unit += 1; }
  return `${unit && value < 100 ? value.toFixed(1) : whole.format(value)} ${units[unit]}`;
}

export function span(seconds) {
  const [d, h, m, s] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, seconds % 60];
  if (d) return `${d} d ${h} h`;
  if (h) return `${h} h ${m} min`;
  return m ? `${m} min ${s} s` : `${s} s`;
}

/** A span in one unit: 300 ms, 12 s, 5 min, 3 h, 2 d. */
export function spanShort(milliseconds) {
  const value = Math.max(0, milliseconds);
  for (const [unit, size, below] of [["ms", 1, 1000], ["s", 1000, 120_000], ["min", 60_000, 7_200_000], ["h", 3_600_000, 172_800_000]]) {
    if (value < below) return `${Math.floor(value / size)} ${unit}`;
  }
  return `${whole.format(Math.floor(value / 86_400_000))} d`;
}

/** How far a moment is from now: "in 5 min", "12 s ago", "now". */
export function ago(moment, now = Date.now()) {
  const away = Date.parse(moment) - now;
  if (Math.abs(away) < 1000) return "now";
  return away > 0 ? `in ${spanShort(away)}` : `${spanShort(-away)} ago`;
}

export const words = (reason) => { const text = reason.replaceAll("_", " "); return text[0].toUpperCase() + text.slice(1); };

// ---- Pieces of the document

export function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Fills a list of names and values. */
export function rows(id, facts) {
  at(id).replaceChildren(...facts.filter(Boolean).map(([name, value, className]) => {
    const fact = element("div", className);
    fact.append(element("dt", "", name), element("dd", "", value));
    return fact;
  }));
}

/** Replaces the rows of a table; the focus stays in the row and on the control where it was. */
export function refill(id, made) {
  const body = at(id), focused = body.contains(document.activeElement) ? document.activeElement : null;
  const row = focused && [...body.children].findIndex((one) => one.contains(focused));
  const controls = (one) => [...one.querySelectorAll("a, button, input, select")];
  const place = focused && controls(body.children[row]).indexOf(focused);
  body.replaceChildren(...made);
  if (focused && body.children.length) controls(body.children[Math.min(row, body.children.length - 1)])[place]?.focus({ preventScroll: true });
}

/** A cell of a table; on a phone its label stands before it. */
export function cell(text, label, className = "") {
  const made = element("td", className, text);
  if (label) made.dataset.label = label;
  return made;
}

/** A moment as one says it: only the time where it is of today. */
export function moment(text) {
  const date = new Date(text);
  const today = date.toDateString() === new Date().toDateString();
  return today ? date.toLocaleTimeString() : date.toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
}

/** A line of the last two minutes, as high as its highest point. */
export function spark(points, className) {
  const space = "http://www.w3.org/2000/svg", width = 60, height = 20;
  const drawing = document.createElementNS(space, "svg");
  drawing.setAttribute("class", `spark ${className}`);
  drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
  drawing.setAttribute("preserveAspectRatio", "none");
  drawing.setAttribute("aria-hidden", "true");
  const top = Math.max(...points, 0);
  if (points.length > 1 && top > 0) {
    const x = (index) => width - (points.length - 1 - index);
    const line = points.map((point, index) => `${index ? "L" : "M"}${x(index)} ${(height - 1 - (height - 2) * (point / top)).toFixed(1)}`).join("");
    for (const [kind, path] of [["area", `${line}L${width} ${height}L${x(0)} ${height}Z`], ["", line]]) {
      const drawn = document.createElementNS(space, "path");
      drawn.setAttribute("d", path);
      if (kind) drawn.setAttribute("class", kind);
      drawing.append(drawn);
    }
  }
  return drawing;
}

let saying = 0;

/** Says something for a while, above whatever is open. */
export function say(text, kind = "") {
  const toast = at("toast");
  toast.className = kind;
  toast.textContent = text;
  toast.hidden = false;
  // A modal lies above everything else of the document.
  (document.querySelector("dialog[open]") ?? document.body).append(toast);
  clearTimeout(saying);
  saying = setTimeout(() => { toast.hidden = true; }, 4000);
}

/** Sets the pill in the header. */
export function showState(state, text) {
  const pill = at("state");
  if (pill.dataset.state === state && at("state-text").textContent === text) return;
  pill.dataset.state = state;
  show("state-text", text);
}

// ---- Theme: as the system says, unless the reader chose

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const themes = { system: ["◐", "as the system"], dark: ["☾", "dark"], light: ["☀", "light"] };

let theme = localStorage.getItem(THEME) ?? "system";
let redraw = () => {};

function applyTheme() {
  const chosen = theme === "system" ? (systemDark.matches ? "dark" : "light") : theme;
  document.documentElement.dataset.theme = chosen;
  const [sign, name] = themes[theme];
  at("theme").textContent = sign;
  at("theme").setAttribute("aria-label", `Theme: ${name}`);
  at("theme").title = `Theme: ${name}`;
  redraw();
}
applyTheme();
systemDark.addEventListener("change", applyTheme);
at("theme").addEventListener("click", () => {
  const order = ["system", "dark", "light"];
  theme = order[(order.indexOf(theme) + 1) % order.length];
  localStorage.setItem(THEME, theme);
  applyTheme();
});

/** Calls `then` whenever the theme changed: what scripts draw has its colours from them. */
export function onTheme(then) {
  redraw = then;
}

// ---- The key

const fragment = new URLSearchParams(location.hash.slice(1));
if (fragment.has("key")) {
  sessionStorage.setItem(KEY, fragment.get("key"));
  history.replaceState(null, "", location.pathname + location.search);
}

let unlocked = () => {};

/** Changes that wait for a key: what each asks for, and what lets it go on. */
const waiting = [];

/** Calls `then` whenever a key was typed in. */
export function onKey(then) {
  unlocked = then;
}

/** Shows the form for a key instead of the page. */
export function askForKey(why) {
  document.body.classList.add("locked");
  // A modal lies above everything else of the document.
  const dialog = document.querySelector("dialog[open]");
  (dialog ?? at("login-home")).append(at("login"));
  // The page's own main part is hidden meanwhile.
  if (!dialog) at("login-home").setAttribute("role", "main");
  at("login").hidden = false;
  show("login-error", why);
  at("login-then").hidden = !waiting.length;
  show("login-then", waiting.length ? `Then this goes on: ${waiting.map(({ what }) => what).join(", ")}` : "");
  showState("lost", "Locked");
  at("key").focus();
  session = askForSession();
}

/** Whether the form for a key is open. */
export const locked = () => document.body.classList.contains("locked");

at("login").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY, at("key").value.trim());
  at("key").value = "";
  at("login").hidden = true;
  document.body.classList.remove("locked");
  at("login-home").removeAttribute("role");
  for (const { go } of waiting.splice(0)) go();
  unlocked();
});

/** Where a change waits that was begun before somebody signed in elsewhere. */
const PENDING = "stadium.pending";

/** How long such a change may wait: it was meant for what was seen then. */
const PENDING_MS = 600_000;

at("sign-in").addEventListener("click", () => {
  const pending = waiting.find(({ body }) => typeof body === "string" || body === undefined);
  if (!pending) return;
  const { method, path, body } = pending;
  sessionStorage.setItem(PENDING, JSON.stringify({ method, path, body, at: Date.now() }));
});

/** The change that was begun before the sign-in, once; null where there is none, or nobody is signed in. */
export async function pendingChange() {
  const text = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  const pending = text && JSON.parse(text);
  if (!pending || Date.now() - pending.at > PENDING_MS) return null;
  await session;
  return person ? pending : null;
}

// ---- Sign-in, where the server offers it

let person = null;

/** Asks who is signed in, and shows it. A key of this tab goes before. */
async function askForSession() {
  let offered = false;
  person = null;
  try {
    const answer = await fetch("/auth/session", { cache: "no-store" });
    if (answer.ok) ({ offered, signed_in: person } = await answer.json());
  } catch {
    // The server is away: the page's own requests say so.
  }
  at("login-person").hidden = !offered;
  show("login-title", offered ? "Sign in" : "An API key, please");
  at("sign-in").href = `/auth/login?to=${encodeURIComponent(location.pathname + location.search)}`;
  at("person").hidden = !person || Boolean(sessionStorage.getItem(KEY));
  show("person-name", person?.name ?? "");
  at("person-name").title = person ? [person.email, person.roles.join(", ")].filter(Boolean).join(" · ") : "";
}

let session = sessionStorage.getItem(KEY) ? Promise.resolve() : askForSession();

at("sign-out").addEventListener("click", async () => {
  const answer = await request("/auth/logout", { method: "POST", headers: { accept: "application/json" } });
  location.assign(answer.ok ? (await answer.json()).to : "/");
});

/** A request with the key of this tab, or else as the person who is signed in. */
export async function request(path, options = {}) {
  const changes = !["GET", "HEAD"].includes(options.method ?? "GET");
  const send = async () => {
    const key = sessionStorage.getItem(KEY);
    if (changes && !key) await session;
    const proof = key ? { authorization: `Bearer ${key}` } : changes && person ? { "stadium-csrf": person.csrf } : {};
    const answer = await fetch(path, { cache: "no-store", ...options, headers: { ...options.headers, ...proof } });
    shown.set(answer, key);
    return answer;
  };
  let answer = await send();
  if (answer.headers.get("stadium-error") === "HTTP-033") {
    // Another tab signed in anew: the token is another one.
    session = askForSession();
    answer = await send();
  }
  if (answer.status !== 401 || !changes || path.startsWith("/auth/")) return answer;
  // A change goes on once there is a key; what only looks begins anew.
  const { method, body } = options;
  const what = `${method} ${path.split("?")[0]}`;
  const asked = { what, method, path, body };
  const given = new Promise((go) => { waiting.push(Object.assign(asked, { go })); });
  await refused(answer);
  if (locked()) await given; else waiting.splice(waiting.indexOf(asked), 1);
  return request(path, options);
}

/** A change over the API; an error with the problem document where it is refused. */
export async function change(method, path, body) {
  const options = { method };
  if (body !== undefined) Object.assign(options, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  const answer = await request(path, options);
  const text = await answer.text();
  const value = text ? JSON.parse(text) : null;
  if (!answer.ok) throw Object.assign(new Error(value?.detail ?? value?.title ?? answer.statusText), { problem: value });
  return value;
}

/** A problem in one line, the field first. */
export const told = (error) => (error.problem?.path ? `${error.problem.path}: ${error.message}` : error.message);

/** The key that each request showed; none of a person. */
const shown = new WeakMap();

/** What an answer to a request without a right key leads to. True where it was one. */
export async function refused(answer) {
  if (answer.status !== 401) return false;
  const had = sessionStorage.getItem(KEY);
  // A late answer to another key says nothing about the one that was typed in meanwhile.
  if (had && had !== shown.get(answer)) return true;
  sessionStorage.removeItem(KEY);
  askForKey(had ? (await answer.json()).detail : person ? "Your session has ended." : "");
  return true;
}

/** What a path of the API answers; an error with the problem document otherwise. */
export async function ask(path) {
  const answer = await request(path);
  if (await refused(answer)) throw new Error("a key is needed");
  const value = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(value.detail), { problem: value });
  return value;
}

// ---- Looking again and again

const PERIOD = 2000;

/**
 * Calls `look` now, and again every two seconds while somebody looks at the page. `look` gets a function that says whether
 * it is still the newest call; what it throws is shown in the header. What it returns is the time to the next look, in
 * milliseconds, where that is another one. Returns what makes it look at once.
 */
export function looking(look) {
  let timer = 0, turn = 0;
  async function refresh() {
    clearTimeout(timer);
    const mine = (turn += 1);
    if (document.hidden || locked()) return;
    let wait = PERIOD;
    try {
      wait = (await look(() => mine === turn)) ?? PERIOD;
      if (mine !== turn) return;
      document.body.classList.remove("stale");
    } catch (error) {
      if (mine !== turn || locked()) return;
      document.body.classList.add("stale");
      showState("lost", error.problem?.title ?? "Reconnecting");
      // Pages that lost the same server do not all come back in the same moment.
      wait = PERIOD * (1 + Math.random());
    }
    timer = setTimeout(refresh, wait);
  }
  document.addEventListener("visibilitychange", refresh);
  return refresh;
}

/** Calls `then` with what was typed into a field, a moment after the last key. Returns what forgets what was typed. */
export function onTyped(id, then) {
  let timer = 0;
  at(id).addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(then, 200);
  });
  return () => clearTimeout(timer);
}

/** The pill says how the shards are. */
export function served(shards) {
  const troubled = shards.filter((shard) => !shard.serving);
  if (!troubled.length) return showState("ready", "Ready");
  return showState("starting", troubled.length === shards.length ? "Not serving" : `${troubled.length} of ${shards.length} shards not serving`);
}
