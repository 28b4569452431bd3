// The devices' page: search, and one device: facts, connection, inbox, newest pushes with why.
//
// /devices?search=&user=&tag= shows the list, /devices/ID one device.

import { ago, ask, at, cell, count, element, looking, moment, onKey, onTyped, rows, say, show, showState, words } from "./console.js";
import { change, headLink, of, page, showApps, told, word } from "./platform.js";

const PAGE = 25;
const [, name] = location.pathname.match(/^\/devices\/(.+)$/) ?? [];
const device = name && decodeURIComponent(name);
let after = null;

at("list").hidden = Boolean(device);
at("one").hidden = !device;
at("to-list").href = page("/devices");
const query = new URLSearchParams(location.search);
for (const field of ["search", "user", "tag"]) {
  at(field).value = query.get(field) ?? "";
  onTyped(field, () => {
    const { value } = at(field);
    if (value) query.set(field, value); else query.delete(field);
    history.replaceState(null, "", query.size ? `/devices?${query}` : "/devices");
    after = null;
    refresh();
  });
}

const refresh = looking((mine) => (device ? refreshOne(mine) : refreshList(mine)));
onKey(refresh);

async function refreshList(mine) {
  const asked = new URLSearchParams({ limit: PAGE });
  const [search, user, tag] = ["search", "user", "tag"].map((field) => at(field).value.trim());
  if (search) asked.set("prefix", search);
  if (user) asked.set("named_user", user);
  if (tag) {
    const [group, own] = tag.includes(":") ? tag.split(/:(.*)/) : [null, tag];
    asked.set("audience", JSON.stringify(group === null ? { tag: own } : { tag: own, group }));
  }
  if (after) asked.set("after", after);
  const [figures, answer] = await Promise.all([showApps(), ask(of(`/devices?${asked}`))]);
  if (!mine()) return;
  showState("ready", "Ready");
  show("sum-devices", count(figures?.devices ?? 0));
  show("sum-connected", count(figures?.connected ?? 0));
  show("sum-opted", count(figures?.opted_in ?? 0));
  show("sum-owed", count(figures?.owed ?? 0));
  at("device-none").hidden = answer.devices.length > 0;
  show("device-none", search || user || tag ? "No device matches." : "No device is registered yet. One is when it connects and reads its inbox, or over the API.");
  at("device-rows").replaceChildren(...answer.devices.map((one) => {
    const row = element("tr");
    row.append(
      headLink(one.device, page(`/devices/${encodeURIComponent(one.device)}`)), word(state(one), "State"), word(one.platform, "Platform"),
      word(one.app_version, "Version"), word(one.language, "Language"), word(one.named_user, "User"),
      word(one.last_seen ? ago(one.last_seen) : "never", "Last seen"), word(one.tags.join(" "), "Tags"),
    );
    return row;
  }));
  at("first").hidden = !after;
  at("on").disabled = !answer.next;
  at("on").onclick = () => { after = answer.next; refresh(); };
}
at("first").addEventListener("click", () => { after = null; refresh(); });

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
  at("inbox-rows").replaceChildren(...one.inbox.map((owed) => {
    const row = element("tr");
    row.append(headLink(owed.push.slice(0, 8), page(`/pushes/${owed.push}`)), cell(ago(owed.since), "Since"), cell(owed.until ? ago(owed.until) : "–", "Until"), cell(owed.priority, "Priority"));
    return row;
  }));
  at("newest-none").hidden = one.newest.length > 0;
  at("newest-rows").replaceChildren(...one.newest.map((push) => {
    const row = element("tr"), why = cell(""), button = element("button", "small", "Why?");
    button.type = "button";
    button.addEventListener("click", () => explain(push.push));
    why.append(button);
    row.append(headLink(push.push.slice(0, 8), page(`/pushes/${push.push}`)), cell(ago(push.at), "When"), word(words(push.state), "State"), why);
    return row;
  }));
}

async function explain(push) {
  try {
    const trace = await ask(of(`/pushes/${push}/devices/${encodeURIComponent(device)}`));
    show("sentence", trace.sentence);
  } catch (error) { show("sentence", told(error)); }
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

refresh();
