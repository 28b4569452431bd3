// The devices' page: search, and one device: facts, connection, inbox, newest pushes with why.
//
// /devices?search=&user=&tag= shows the list, /devices/ID one device.

import { ago, ask, at, cell, count, element, looking, moment, onKey, onTyped, rows, say, show, showState, words, refill } from "./console.js";
import { reasonRow } from "./cells.js";
import { confirmed } from "./confirm.js";
import { paging } from "./paging.js";
import { change, headLink, of, page, showApps, told, word } from "./platform.js";

const PAGE = 25;
const [, name] = location.pathname.match(/^\/devices\/(.+)$/) ?? [];
const device = name && decodeURIComponent(name);

at("list").hidden = Boolean(device);
at("one").hidden = !device;
at("to-list").href = page("/devices");

const refresh = looking((mine) => (device ? refreshOne(mine) : refreshList(mine)));
const pages = paging({ refresh });
onKey(refresh);

// ---- The list

const query = new URLSearchParams(location.search);
const FILTERS = [["search", "search"], ["filter-state", "state"], ["user", "user"], ["tag", "tag"]];
for (const [field, parameter] of FILTERS) {
  at(field).value = query.get(parameter) ?? "";
  if (at(field).tagName === "SELECT") at(field).addEventListener("change", choose); else onTyped(field, choose);
}

function choose() {
  for (const [field, parameter] of FILTERS) if (at(field).value.trim()) query.set(parameter, at(field).value.trim()); else query.delete(parameter);
  history.replaceState(null, "", query.size ? `/devices?${query}` : "/devices");
  pages.reset();
  refresh();
}

/** A search looks through many devices: it is done again less often. */
const SEARCH_PERIOD = 10_000;

async function refreshList(mine) {
  const asked = new URLSearchParams({ limit: PAGE });
  const [search, wanted, user, tag] = FILTERS.map(([field]) => at(field).value.trim());
  if (search) asked.set("search", search);
  if (wanted) asked.set("state", wanted);
  if (user) asked.set("named_user", user);
  if (tag) {
    const [group, own] = tag.includes(":") ? tag.split(/:(.*)/) : [null, tag];
    asked.set("audience", JSON.stringify(group === null ? { tag: own } : { tag: own, group }));
  }
  if (pages.cursor) asked.set("after", pages.cursor);
  const [figures, answer] = await Promise.all([showApps(), ask(of(`/devices?${asked}`))]);
  if (!mine()) return undefined;
  showState("ready", "Ready");
  show("sum-devices", count(figures?.devices ?? 0));
  show("sum-connected", count(figures?.connected ?? 0));
  show("sum-opted", count(figures?.opted_in ?? 0));
  show("sum-owed", count(figures?.owed ?? 0));
  at("device-none").hidden = answer.devices.length > 0;
  const filtered = search || wanted || user || tag;
  show("device-none", !filtered ? "No device is registered yet. One is when it connects and reads its inbox, or over the API."
    : answer.next ? "None of these devices matches; those on the next page may." : "No device matches.");
  refill("device-rows", answer.devices.map((one) => {
    const row = element("tr");
    row.append(
      picker(one.device), headLink(one.device, page(`/devices/${encodeURIComponent(one.device)}`)), word(state(one), "State"), word(one.platform, "Platform"),
      word(one.app_version, "Version"), word(one.language, "Language"), word(one.named_user, "User"),
      word(one.last_seen ? ago(one.last_seen) : "never", "Last seen"), word(one.tags.join(" "), "Tags"),
    );
    return row;
  }));
  shown = answer.devices.map((one) => one.device);
  showChosen();
  pages.came(answer.next);
  return search || wanted ? SEARCH_PERIOD : undefined;
}

// ---- Chosen devices, over several pages

const chosen = new Set();
let shown = [];

function picker(id) {
  const made = element("td", "pick"), box = element("input");
  box.type = "checkbox";
  box.checked = chosen.has(id);
  box.setAttribute("aria-label", `Choose ${id}`);
  box.addEventListener("change", () => {
    if (box.checked) chosen.add(id); else chosen.delete(id);
    showChosen();
  });
  made.append(box);
  return made;
}

const several = (n) => (n === 1 ? "1 device" : `${count(n)} devices`);

function showChosen() {
  at("bulk").hidden = chosen.size === 0;
  show("bulk-count", `${several(chosen.size)} chosen`);
  const here = shown.filter((id) => chosen.has(id)).length;
  at("pick-all").checked = shown.length > 0 && here === shown.length;
  at("pick-all").indeterminate = here > 0 && here < shown.length;
  for (const box of at("device-rows").querySelectorAll(".pick input")) box.checked = chosen.has(box.getAttribute("aria-label").slice("Choose ".length));
}
at("pick-all").addEventListener("change", () => {
  for (const id of shown) if (at("pick-all").checked) chosen.add(id); else chosen.delete(id);
  showChosen();
});
at("bulk-none").addEventListener("click", () => { chosen.clear(); showChosen(); });

/** Devices of one request, and requests at one time. */
const BATCH = 1000, AT_ONCE = 4;

/** Does it for each chosen device; those for which it failed stay chosen. */
async function each(does, done) {
  const all = [...chosen], failed = [];
  const work = async () => {
    for (let id = all.pop(); id !== undefined; id = all.pop()) {
      try { await does(id); chosen.delete(id); } catch (error) { failed.push(error); }
    }
  };
  const before = chosen.size;
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (failed.length) say(`${several(failed.length)} failed: ${told(failed[0])}`, "error"); else say(`${several(before)} ${done}`);
  refresh();
}

async function changeTag(how, done) {
  const tag = at("bulk-tag").value.trim();
  if (!tag) return say("Say which tag", "error");
  const all = [...chosen];
  try {
    let wrong = null;
    for (let from = 0; from < all.length; from += BATCH) {
      const devices = all.slice(from, from + BATCH).map((id) => ({ device: id, tags: { [how]: [tag] } }));
      const { results } = await change("POST", of("/devices"), { devices });
      wrong ??= results.find(({ error }) => error)?.error;
    }
    if (wrong) say(wrong.detail, "error"); else say(`${several(all.length)} ${done} ${tag}`);
    refresh();
  } catch (error) { say(told(error), "error"); }
  return undefined;
}
at("bulk-add").addEventListener("click", () => changeTag("add", "have the tag"));
at("bulk-remove").addEventListener("click", () => changeTag("remove", "are without the tag"));
at("bulk-revoke").addEventListener("click", async () => {
  const text = "They are cut at once and may not connect, until they are restored.";
  if (await confirmed({ title: `Revoke ${several(chosen.size)}?`, text, yes: "Revoke" })) await each((id) => change("POST", of(`/devices/${encodeURIComponent(id)}/revoke`)), "revoked");
});
at("bulk-restore").addEventListener("click", () => each((id) => change("POST", of(`/devices/${encodeURIComponent(id)}/restore`)), "restored"));
at("bulk-forget").addEventListener("click", async () => {
  const text = "All that is registered of them goes for good, with what they are owed. They may register anew.";
  const asked = { title: `Forget ${several(chosen.size)}?`, text, yes: "Forget", danger: true, type: several(chosen.size) };
  if (await confirmed(asked)) await each((id) => change("DELETE", of(`/devices/${encodeURIComponent(id)}`)), "forgotten");
});

// ---- One device

function state(one) {
  if (one.revoked) return "Revoked";
  if (one.connected) return "Connected";
  return one.opt_in ? "Away" : "Opted out";
}

async function refreshOne(mine) {
  await showApps();
  let one;
  try {
    one = await ask(of(`/devices/${encodeURIComponent(device)}`));
  } catch (error) {
    if (!error.problem || !mine()) throw error;
    showState("ready", "Ready");
    show("h-device", device);
    [at("wrong").hidden, at("cards").hidden] = [false, true];
    return show("wrong", error.message);
  }
  if (!mine()) return;
  showState("ready", "Ready");
  document.title = `${device} · Stadium`;
  [at("wrong").hidden, at("cards").hidden] = [true, false];
  show("h-device", device);
  show("status", state(one));
  at("status").dataset.status = one.connected ? "settled" : "";
  at("revoke").hidden = one.revoked;
  at("restore").hidden = !one.revoked;
  const fact = (label, value) => value !== null && value !== undefined && [label, String(value)];
  rows("facts", [
    fact("Platform", one.platform), fact("App version", one.app_version), fact("Language", one.language), fact("Country", one.country),
    fact("Time zone", one.time_zone), fact("Named user", one.named_user), fact("Opted in", one.opt_in ? "yes" : "no"),
    one.quiet_hours && ["Quiet hours", `${one.quiet_hours.from}–${one.quiet_hours.to}`],
    one.location && ["Location", `${one.location.latitude}, ${one.location.longitude}`],
    fact("Credential", one.has_credential ? "yes" : "none"), fact("Connection", one.connection),
    ["Registered", moment(one.registered_at)], ["Last seen", one.last_seen ? moment(one.last_seen) : "never"],
  ]);
  const value = (attribute) => (typeof attribute === "object" ? moment(attribute.date) : String(attribute));
  rows("attributes", [
    ["Tags", one.tags.join(", ") || "none"], one.lists.length > 0 && ["Lists", one.lists.join(", ")],
    ...Object.entries(one.attributes).map(([label, attribute]) => [label, value(attribute)]),
  ]);
  show("inbox-unit", one.owed ? `${count(one.owed)} owed, next first` : "");
  at("inbox-none").hidden = one.inbox.length > 0;
  refill("inbox-rows", one.inbox.map((owed) => {
    const row = element("tr");
    row.append(headLink(owed.push.slice(0, 8), page(`/pushes/${owed.push}`)), cell(ago(owed.since), "Since"), cell(owed.until ? ago(owed.until) : "–", "Until"), cell(owed.priority, "Priority"));
    return row;
  }));
  at("newest-none").hidden = one.newest.length > 0;
  showNewest(one.newest);
}

let newest = [], explained = null;

function showNewest(pushes) {
  newest = pushes;
  refill("newest-rows", pushes.flatMap((push) => {
    const row = element("tr"), why = cell(""), button = element("button", "small", "Why?");
    button.type = "button";
    button.setAttribute("aria-label", `Why is push ${push.push.slice(0, 8)} ${words(push.state)}?`);
    button.setAttribute("aria-expanded", explained?.push === push.push);
    button.addEventListener("click", () => explain(push.push));
    why.append(button);
    row.append(headLink(push.push.slice(0, 8), page(`/pushes/${push.push}`)), cell(ago(push.at), "When"), word(words(push.state), "State"), why);
    return explained?.push === push.push ? [row, reasonRow(explained.sentence, 4)] : [row];
  }));
}

/** Shows the reason below the row of the push; the second time it goes. */
async function explain(push) {
  try {
    explained = explained?.push === push ? null : { push, sentence: (await ask(of(`/pushes/${push}/devices/${encodeURIComponent(device)}`))).sentence };
    showNewest(newest);
  } catch (error) { say(told(error), "error"); }
}

for (const verb of ["revoke", "restore"]) {
  at(verb).addEventListener("click", async () => {
    try {
      await change("POST", of(`/devices/${encodeURIComponent(device)}/${verb}`));
      say(verb === "revoke" ? "Revoked: it was cut, and may not connect" : "Restored");
      refresh();
    } catch (error) { say(told(error), "error"); }
  });
}

at("forget").addEventListener("click", async () => {
  const text = "All that is registered of it goes for good, with what it is owed, and its connection is closed. It may register anew.";
  if (!(await confirmed({ title: "Forget this device?", text, yes: "Forget", danger: true, type: device }))) return;
  try {
    await change("DELETE", of(`/devices/${encodeURIComponent(device)}`));
    location.href = page("/devices");
  } catch (error) { say(told(error), "error"); }
});

refresh();
