// The keyboard on every page: the dialog that goes to a page or a thing, and the list of keys.
//
// Keys have no effect while a field has the focus, and while a dialog is open.

import { confirmed } from "./confirm.js";
import { at, change, element, pendingChange, say, told } from "./console.js";

const app = new URLSearchParams(location.search).get("app");

/** Key after `g`, title, path; those of the push platform keep the app that is looked at. */
const PLACES = [
  ["l", "Live", "/live"], ["h", "History", "/history"],
  ["p", "Pushes", "/pushes", true], ["c", "Compose a push", "/compose", true], ["d", "Devices", "/devices", true], ["a", "Audiences", "/audiences", true],
  ["s", "Schedules", "/schedules", true], ["t", "Settings and feeds of the app", "/settings", true],
  ["q", "Queues", "/queues"], ["w", "Wallets", "/wallets"],
  ["n", "Nodes", "/nodes"], ["o", "Cluster", "/cluster"], ["e", "Sessions", "/sessions"], ["r", "Retained messages", "/retained"],
  ["v", "Services", "/services"], ["f", "Configuration", "/configuration"], ["k", "API keys", "/keys"], ["u", "Audit log", "/audit"],
  ["i", "API reference", "/docs"],
].map(([key, title, path, ofApp]) => ({ key, title, path: ofApp && app ? `${path}?app=${encodeURIComponent(app)}` : path }));

/** Things whose id or name may have been typed. */
const THINGS = [["Device", "/devices/", true], ["Push", "/pushes/", true], ["Queue", "/queues/"], ["Wallet", "/wallets/"], ["Session", "/sessions?search="]];

for (const link of document.querySelectorAll("#below a")) {
  const path = link.getAttribute("href").split("?")[0];
  if (location.pathname === path || location.pathname.startsWith(`${path}/`)) link.setAttribute("aria-current", "page");
}

// ---- Go to

let places = [], chosen = 0;

function openGo() {
  if (document.querySelector("dialog[open]")) return;
  at("go-text").value = "";
  showPlaces();
  at("go").showModal();
}

function found(text) {
  const pages = PLACES.filter(({ title, path }) => `${title} ${path}`.toLowerCase().includes(text.toLowerCase()));
  if (!text) return pages;
  const things = THINGS.map(([title, path, ofApp]) => ({
    title: `${title} ${text}`, path: `${path}${encodeURIComponent(text)}${ofApp && app ? `?app=${encodeURIComponent(app)}` : ""}`,
  }));
  return [...pages, ...things];
}

function showPlaces() {
  places = found(at("go-text").value.trim());
  chosen = 0;
  at("go-places").replaceChildren(...places.map((place, index) => {
    const item = element("li"), title = element("span", "", place.title);
    item.id = `go-${index}`;
    item.setAttribute("role", "option");
    item.append(title);
    if (place.key) item.append(element("kbd", "", `g ${place.key}`));
    item.addEventListener("click", () => { location.href = place.path; });
    return item;
  }));
  mark();
}

function mark() {
  [...at("go-places").children].forEach((item, index) => item.setAttribute("aria-selected", index === chosen));
  at("go-text").setAttribute("aria-activedescendant", places.length ? `go-${chosen}` : "");
  at(`go-${chosen}`)?.scrollIntoView({ block: "nearest" });
}

at("go-open").addEventListener("click", openGo);
at("go-text").addEventListener("input", showPlaces);
at("go-text").addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !places.length) return;
  event.preventDefault();
  chosen = (chosen + step + places.length) % places.length;
  mark();
});
at("go-form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (places[chosen]) location.href = places[chosen].path;
});

// ---- The list of keys

const keys = [
  ["/", "Search on this page, or go to another"], ["Ctrl K", "Go to a page or a thing"], ["?", "This list"], ["Esc", "Close what is open"],
  ...PLACES.map(({ key, title }) => [`g ${key}`, title]),
];
at("help-keys").replaceChildren(...keys.map(([key, title]) => {
  const row = element("div"), name = element("dt");
  name.append(...key.split(" ").flatMap((part) => [element("kbd", "", part), " "]));
  row.append(name, element("dd", "", title));
  return row;
}));

function openHelp() {
  if (!document.querySelector("dialog[open]")) at("help").showModal();
}
at("help-open").addEventListener("click", openHelp);

// ---- Keys

/** How long a key after `g` is waited for. */
const PREFIX_MS = 1500;
let prefixAt = -Infinity;

/** The field to search with on this page. */
const search = () => [...document.querySelectorAll("main input[type=search], header input[type=search]")].find((field) => field.offsetParent);

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    return openGo();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) {
    if (event.key === "Escape" && event.target.type === "search") event.target.blur();
    return;
  }
  const after = performance.now() - prefixAt < PREFIX_MS;
  prefixAt = -Infinity;
  if (after) {
    const place = PLACES.find(({ key }) => key === event.key);
    if (place) {
      event.preventDefault();
      location.href = place.path;
    }
    return;
  }
  if (event.key === "g") prefixAt = performance.now();
  else if (event.key === "?") openHelp();
  else if (event.key === "/") {
    event.preventDefault();
    const field = search();
    if (field) { field.focus(); field.select(); } else openGo();
  }
});

// ---- What was begun before a sign-in

async function goOn() {
  const pending = await pendingChange();
  if (!pending) return;
  const text = `You began this before you signed in: ${pending.method} ${pending.path}`;
  if (!(await confirmed({ title: "Go on?", text, yes: "Go on" }))) return;
  try {
    await change(pending.method, pending.path, pending.body === undefined ? undefined : JSON.parse(pending.body));
    say("Done");
  } catch (error) { say(told(error), "error"); }
}
goOn();
