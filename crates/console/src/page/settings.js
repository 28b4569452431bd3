// The settings' page of an app: how it behaves, its feeds and webhooks, and its end.
//
// A form with changes that are not saved is not overwritten by the settings that are read meanwhile.

import { confirmed } from "./confirm.js";
import { ask, at, cell, count, element, looking, onKey, say, show, showState, refill } from "./console.js";
import { app, change, figure, of, page, showApps, told, word } from "./platform.js";

const KINDS = ["delivered", "opened", "clicked", "expired", "refused", "connected", "disconnected", "message"];
let known = null, touched = false;

at("kinds").replaceChildren(...KINDS.map((kind) => {
  const label = element("label"), box = element("input");
  box.type = "checkbox";
  box.value = kind;
  label.append(box, ` ${kind}`);
  return label;
}));
at("app-form").addEventListener("input", () => { touched = true; });
at("forget").hidden = app === "default";

const refresh = looking(async (mine) => {
  const [, one] = await Promise.all([showApps(), ask(`/api/apps/${encodeURIComponent(app)}`)]);
  if (!mine()) return;
  known = one;
  showState("ready", "Ready");
  at("sums").replaceChildren(...[["App", one.app], ["Devices", count(one.devices)], ["Connected", count(one.connected)], ["Opted in", count(one.opted_in)], ["Pushes remembered", count(one.pushes)], ["Owed", count(one.owed)]].map(([name, value]) => {
    const fact = element("div");
    fact.append(element("dt", "", name), element("dd", "", value));
    return fact;
  }));
  if (!touched) fill(one.settings);
  const figures = await Promise.all(one.settings.feeds.map((feed) => ask(`/api/queues/${encodeURIComponent(queueOf(feed))}`).catch(() => null)));
  if (mine()) showFeeds(one.settings.feeds, figures);
});
onKey(refresh);

const queueOf = (feed) => `events.${app}.${feed.name}`;

function fill(settings) {
  at("register").checked = settings.register_at_connect;
  at("opted-in").checked = settings.opted_in;
  at("expiry").value = settings.expiry_s;
  at("remember").value = settings.remember_s;
  at("inbox").value = settings.inbox_max;
  at("cap").value = settings.cap?.pushes ?? "";
  at("cap-within").value = settings.cap?.within_s ?? "";
  at("own-tags").value = settings.device_writable.tags.join(", ");
  at("own-attributes").value = settings.device_writable.attributes.join(", ");
}

const list = (id) => at(id).value.split(",").map((text) => text.trim()).filter(Boolean);

at("app-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  show("app-wrong", "");
  const number = (id) => Number(at(id).value);
  const body = {
    register_at_connect: at("register").checked, opted_in: at("opted-in").checked, expiry_s: number("expiry"), remember_s: number("remember"), inbox_max: number("inbox"),
    cap: at("cap").value ? { pushes: number("cap"), within_s: number("cap-within") || 86_400 } : null,
    device_writable: { tags: list("own-tags"), attributes: list("own-attributes") },
  };
  try {
    await change("PUT", of(""), body);
    touched = false;
    say("Saved");
    refresh();
  } catch (error) { show("app-wrong", told(error)); }
});

// ---- Feeds

function showFeeds(feeds, figures) {
  at("feed-none").hidden = feeds.length > 0;
  refill("feed-rows", feeds.map((feed, index) => {
    const row = element("tr"), head = element("th"), open = element("button", "open", feed.name), tools = cell(""), drop = element("button", "small danger", "Remove");
    head.scope = "row";
    open.type = drop.type = "button";
    open.addEventListener("click", () => fillFeed(feed));
    drop.setAttribute("aria-label", `Remove the feed ${feed.name}`);
    drop.addEventListener("click", () => removeFeed(feed));
    head.append(open);
    tools.append(drop);
    const queue = cell("", "Queue", "text"), link = element("a", "", queueOf(feed)), jobs = figures[index]?.jobs;
    link.href = `/queues/${encodeURIComponent(queueOf(feed))}`;
    queue.append(link);
    const n = (state) => (jobs ? figure(jobs[state], state) : cell("–", state, "nothing"));
    row.append(head, word([...feed.kinds, ...(feed.topics ?? [])].join(", "), "Events"), word(feed.webhook?.url ?? "none", "Webhook"), queue, n("due"), n("reserved"), n("buried"), n("dead"), tools);
    return row;
  }));
}

function fillFeed(feed) {
  at("feed-name").value = feed.name;
  for (const box of at("kinds").querySelectorAll("input")) box.checked = feed.kinds.includes(box.value);
  at("feed-topics").value = (feed.topics ?? []).join(", ");
  at("feed-url").value = feed.webhook?.url ?? "";
  at("feed-secret").value = "";
  at("feed-name").scrollIntoView({ block: "center" });
}

at("make-secret").addEventListener("click", () => {
  const secret = `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;
  at("feed-secret").type = "text";
  at("feed-secret").value = secret;
  at("feed-secret").select();
  say("Copy it now: it is not shown again");
});

at("feed-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  show("feed-wrong", "");
  const feed = { name: at("feed-name").value.trim(), kinds: [...at("kinds").querySelectorAll(":checked")].map((box) => box.value) };
  if (list("feed-topics").length) feed.topics = list("feed-topics");
  if (at("feed-url").value) {
    feed.webhook = { url: at("feed-url").value };
    if (at("feed-secret").value) feed.webhook.secret = at("feed-secret").value;
  }
  try {
    await change("PUT", of(""), { feeds: [...known.settings.feeds.filter(({ name }) => name !== feed.name), feed] });
    at("feed-form").reset();
    at("feed-secret").type = "password";
    say(`${feed.name} is set`);
    refresh();
  } catch (error) { show("feed-wrong", told(error)); }
});

async function removeFeed(feed) {
  const text = `No further event reaches it. Jobs that its queue ${queueOf(feed)} holds stay there.${feed.webhook ? " The secret of its webhook goes." : ""}`;
  if (!(await confirmed({ title: `Remove the feed ${feed.name}?`, text, yes: "Remove", danger: true }))) return;
  try {
    await change("PUT", of(""), { feeds: known.settings.feeds.filter(({ name }) => name !== feed.name) });
    say(`${feed.name} is removed`);
    refresh();
  } catch (error) { say(told(error), "error"); }
}

// ---- Apps

at("new-app").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const made = await change("PUT", `/api/apps/${encodeURIComponent(at("new-name").value.trim())}`, {});
    location.href = `/settings?app=${encodeURIComponent(made.app)}`;
  } catch (error) { show("new-wrong", told(error)); }
});

at("forget").addEventListener("click", async () => {
  const text = `All of it goes for good: ${count(known.devices)} devices, ${count(known.pushes)} pushes, its audiences and schedules.`;
  if (!(await confirmed({ title: `Forget the app ${app}?`, text, yes: "Forget it", danger: true, type: app }))) return;
  try {
    await change("DELETE", of(""));
    location.href = "/settings";
  } catch (error) { say(told(error), "error"); }
});

refresh();
