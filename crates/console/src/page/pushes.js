// The pushes' page: all of an app, and one as it goes on, with why a device did or did not get it.
//
// /pushes shows the list, /pushes/ID one push. While one goes on, the server tells each half second what changed.

import { Chart } from "./chart.js";
import { ago, ask, at, cell, count, element, looking, moment, ms, onKey, onTheme, onTyped, refused, request, rows, say, short, show, showState, words, refill } from "./console.js";
import { reasonRow } from "./cells.js";
import { confirmed } from "./confirm.js";
import { paging } from "./paging.js";
import { change, figure, headLink, of, page, showApps, told, word } from "./platform.js";

const PAGE = 25;
const [, id] = location.pathname.match(/^\/pushes\/(.+)$/) ?? [];

const chart = new Chart(at("series"), {
  series: [{ colour: "--ice", fill: true }, { colour: "--lamp", dash: [4, 3] }], format: (n) => short.format(n), floor: 1, pointsMax: 120,
});
onTheme(() => chart.draw());

at("list").hidden = Boolean(id);
at("one").hidden = !id;
at("to-list").href = page("/pushes");
for (const link of [at("to-compose"), at("push-none").querySelector("a")]) link.href = page("/compose");

const refresh = looking((mine) => (id ? refreshOne(mine) : refreshList(mine)));
const pages = paging({ refresh });
onKey(refresh);

// ---- The list

const query = new URLSearchParams(location.search);
const FILTERS = [["search", "search"], ["filter-status", "status"], ["filter-live", "live"]];
for (const [field, name] of FILTERS) at(field).value = query.get(name) ?? "";
onTyped("search", choose);
for (const [field] of FILTERS.slice(1)) at(field).addEventListener("change", choose);

function choose() {
  for (const [field, name] of FILTERS) if (at(field).value.trim()) query.set(name, at(field).value.trim()); else query.delete(name);
  history.replaceState(null, "", query.size ? `/pushes?${query}` : "/pushes");
  pages.reset();
  refresh();
}

async function refreshList(mine) {
  const asked = new URLSearchParams({ limit: PAGE });
  let filtered = false;
  for (const [field, name] of FILTERS) {
    const value = at(field).value.trim();
    if (value) [filtered] = [true, asked.set(name, value)];
  }
  if (pages.cursor) asked.set("before", pages.cursor);
  const [, answer] = await Promise.all([showApps(), ask(of(`/pushes?${asked}`))]);
  if (!mine()) return undefined;
  showState("ready", "Ready");
  at("push-none").hidden = answer.pushes.length > 0;
  at("push-none").firstChild.textContent = filtered ? (answer.next ? "None of these pushes is like that; older ones may be. " : "No push is like that. ") : "Nothing was pushed yet. ";
  refill("push-rows", answer.pushes.map((push) => {
    const row = element("tr"), counts = push.counts;
    row.append(
      headLink(nameOf(push), page(`/pushes/${push.id}`)), cell(ago(push.accepted_at), "Accepted"), stateCell(push), progressCell(push),
      figure(counts.targeted, "Targeted"), figure(counts.delivered, "Delivered"), figure(counts.waiting + counts.owed + counts.in_flight, "Owed"),
      figure(counts.opened, "Opened"), figure(counts.clicked, "Clicked"), figure(counts.expired, "Expired"),
    );
    return row;
  }));
  pages.came(answer.next);
  return filtered ? SEARCH_PERIOD : undefined;
}

/** A search looks through many pushes: it is done again less often. */
const SEARCH_PERIOD = 10_000;

/** The part of the targeted devices that owe nothing more, in per cent. */
const doneOf = ({ counts }) => (counts.targeted ? (100 * (counts.targeted - counts.waiting - counts.owed - counts.in_flight)) / counts.targeted : 0);

/** A state in words. Nothing is on its way and devices are owed it: they are away, or in their quiet hours. */
function stateOf(push) {
  const { counts, options } = push;
  const live = push.live ? ", live" : "";
  if (push.status !== "sending" || push.live || counts.in_flight > 0 || counts.owed + counts.waiting === 0) return words(push.status) + live;
  if (counts.owed === 0) return "Waiting for the end of quiet hours";
  // A push with a pace owes devices also because their turn has not come.
  const { per_second: rate, over_s: over } = options.pace ?? {};
  const paced = rate ? counts.targeted / rate : over ?? 0;
  return Date.now() - Date.parse(push.started_at) < 1000 * paced ? "Sending" : "Waiting for devices";
}

function stateCell(push) {
  const state = stateOf(push), made = cell("", "Status", "text"), tag = element("span", "tag", state);
  tag.dataset.status = push.status === "sending" && state.startsWith("Waiting") ? "waiting" : push.status;
  made.append(tag);
  return made;
}

function progressBar(push) {
  const done = doneOf(push), bar = element("span", "bar acknowledged"), filled = element("i");
  filled.style.width = `${done}%`;
  bar.setAttribute("role", "progressbar");
  bar.setAttribute("aria-label", `Progress of ${nameOf(push)}`);
  bar.setAttribute("aria-valuemin", 0);
  bar.setAttribute("aria-valuemax", 100);
  bar.setAttribute("aria-valuenow", Math.floor(done));
  bar.append(filled);
  return [bar, element("span", "percent", push.counts.targeted ? `${done === 100 ? 100 : Math.floor(done)}%` : "–")];
}

function progressCell(push) {
  const made = cell("", "Progress", push.counts.targeted ? "text progress" : "text progress nothing");
  made.append(...progressBar(push));
  return made;
}

/** Its title; of a live push without one its audience, since nothing else is kept of it. */
function nameOf(push) {
  if (push.title) return push.title;
  if (!push.live) return push.id;
  return push.audience.channel !== undefined ? `Channel ${push.audience.channel}` : JSON.stringify(push.audience);
}

// ---- One push

let over = false, streaming = false;

async function refreshOne(mine) {
  await showApps();
  if (over || streaming) return over ? undefined : showDeliveries();
  let push;
  try {
    push = await ask(of(`/pushes/${encodeURIComponent(id)}`));
  } catch (error) {
    if (!error.problem || !mine()) throw error;
    showState("ready", "Ready");
    [at("wrong").hidden, at("cards").hidden] = [false, true];
    show("h-push", id);
    return show("wrong", error.message);
  }
  if (!mine()) return;
  [at("wrong").hidden, at("cards").hidden] = [true, false];
  showPush(push);
  if (!push.live && push.started_at) await showDeliveries();
  if (!over) follow();
}

/** Reads the push's events until it is over or the connection is. */
async function follow() {
  streaming = true;
  try {
    const answer = await request(of(`/pushes/${encodeURIComponent(id)}/live`));
    if (await refused(answer) || !answer.ok) return;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      text += value;
      const events = text.split("\n\n");
      text = events.pop();
      for (const event of events) {
        const data = event.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n");
        if (data) showPush(JSON.parse(data));
      }
    }
  } catch {
    // The next look begins anew.
  } finally {
    streaming = false;
  }
}

const PLACES = [
  ["delivered", "Delivered"], ["in_flight", "Sent, not acknowledged"], ["owed", "Owed"], ["waiting", "Wait for the end of quiet hours"],
  ["expired", "Expired"], ["collapsed", "Gave way to a newer push"], ["crowded_out", "Inbox was full"], ["refused", "Refused"], ["cancelled", "Cancelled"],
  ["opted_out", "Left out: not opted in"], ["held_out", "Left out: held out"], ["capped", "Left out: had their fill"],
  ["quiet", "Left out: quiet hours"], ["no_value", "Left out: a value is missing"],
];

function showPush(push) {
  showState("ready", "Ready");
  over = push.status === "settled" || push.status === "cancelled";
  const { counts } = push;
  show("h-push", nameOf(push));
  document.title = `${nameOf(push)} · Stadium`;
  const state = stateOf(push);
  show("status", state);
  at("status").dataset.status = push.status === "sending" && state.startsWith("Waiting") ? "waiting" : push.status;
  at("progress").replaceChildren(...progressBar(push));
  at("deliveries-card").hidden = push.live;
  at("cancel").hidden = over || push.live;
  at("tiles").replaceChildren(...[
    ["Targeted", counts.targeted], ["Delivered", counts.delivered], ["Owed still", counts.owed + counts.waiting + counts.in_flight], ["Opened", counts.opened], ["Clicked", counts.clicked], ["Expired", counts.expired],
  ].filter(([name]) => !push.live || (name !== "Opened" && name !== "Clicked")).map(([name, n]) => {
    const tile = element("div", "tile");
    tile.append(element("b", "", count(n)), element("small", "", name));
    return tile;
  }));
  show("places-unit", counts.devices > 0 || !push.live ? `${count(counts.matched)} of ${count(counts.devices)} devices matched` : `${count(counts.matched)} subscribed or named`);
  const most = Math.max(counts.matched, counts.targeted, 1);
  at("places").replaceChildren(...PLACES.filter(([field]) => counts[field]).map(([field, name]) => {
    const row = element("div", "bar-row"), bar = element("div", "bar"), filled = element("i");
    filled.style.width = `${(100 * counts[field]) / most}%`;
    if (field === "delivered") bar.classList.add("acknowledged");
    bar.append(filled);
    row.append(element("span", "", name), element("b", "", count(counts[field])), bar);
    return row;
  }));
  // A live push is over in a moment: it has latencies, and no seconds to draw.
  at("series").hidden = at("series-keys").hidden = !push.series;
  if (push.series) chart.set(push.series.map((sample) => [sample.acknowledged, sample.sent]));
  // Whole milliseconds: 0 is less than one.
  const took = (n) => (n > 0 ? ms(n) : "< 1 ms");
  const latency = (name, of) => of.count > 0 && [name, `first ${took(of.first_ms)}, half ${took(of.p50_ms)}, 99 % ${took(of.p99_ms)}, last ${took(of.last_ms)}`];
  rows("latency", [latency("Sent after", push.sent), latency("Acknowledged after", push.acknowledged)]);
  rows("facts", [
    ["Push", push.id], ["Accepted", moment(push.accepted_at)], push.started_at && ["Started", moment(push.started_at)],
    push.schedule && ["Schedule", push.schedule], ["Audience", JSON.stringify(push.audience)], push.options.priority !== undefined && ["Priority", push.options.priority],
    push.actions?.length > 0 && ["Clicked", push.actions.map(({ action, clicks }) => `${action}: ${count(clicks)}`).join(", ")],
    push.options.expiry_s && ["Expires after", `${push.options.expiry_s} s`], push.options.collapse_key && ["Collapse key", push.options.collapse_key],
  ]);
  show("content", push.content ? JSON.stringify(push.content, null, 2)
    : push.live ? "The message of a live push is not kept."
      : "Contents of pushes take the right push.payload.");
}

at("cancel").addEventListener("click", async () => {
  const text = "Devices that have not got it yet never do. It cannot be sent on; a delivery on its way may still arrive.";
  if (!(await confirmed({ title: `Cancel ${at("h-push").textContent.slice(0, 80)}?`, text, yes: "Cancel it", danger: true }))) return;
  try {
    showPush(await change("POST", of(`/pushes/${encodeURIComponent(id)}/cancel`)));
    say("Cancelled");
  } catch (error) { say(told(error), "error"); }
});

// ---- Its devices, and why

const DELIVERIES = 10;
const deliveries = paging({ back: "delivery-back", on: "delivery-on", says: "delivery-says", refresh: () => showDeliveries().catch((error) => say(told(error), "error")) });
let explained = null;

async function showDeliveries() {
  const asked = new URLSearchParams({ limit: DELIVERIES });
  if (deliveries.cursor) asked.set("after", deliveries.cursor);
  const answer = await ask(of(`/pushes/${encodeURIComponent(id)}/deliveries?${asked}`));
  at("delivery-none").hidden = answer.deliveries.length > 0;
  const made = answer.deliveries.flatMap((one) => {
    const row = element("tr"), why = cell(""), button = element("button", "small", "Why?");
    button.type = "button";
    button.setAttribute("aria-label", `Why is it so for ${one.device}?`);
    button.setAttribute("aria-expanded", explained?.device === one.device);
    button.addEventListener("click", () => explain(one.device));
    why.append(button);
    row.append(headLink(one.device, page(`/devices/${encodeURIComponent(one.device)}`)), word(words(one.state), "State"), cell(one.sent_at ? moment(one.sent_at) : "–", "Sent"), cell(one.acknowledged_at ? moment(one.acknowledged_at) : "–", "Acknowledged"), why);
    return explained?.device === one.device ? [row, reasonRow(explained.sentence, 5)] : [row];
  });
  refill("delivery-rows", made);
  deliveries.came(answer.next);
}

/** Shows the reason below the row of the device; the second time it goes. */
async function explain(device) {
  try {
    explained = explained?.device === device ? null : { device, sentence: (await traceOf(device)).sentence };
    await showDeliveries();
  } catch (error) { say(told(error), "error"); }
}

const traceOf = (device) => ask(of(`/pushes/${encodeURIComponent(id)}/devices/${encodeURIComponent(device)}`));

at("why").addEventListener("submit", async (event) => {
  event.preventDefault();
  const device = at("why-device").value.trim();
  try {
    const trace = await traceOf(device);
    show("sentence", trace.sentence);
    at("steps").replaceChildren(...trace.steps.map((step) => {
      const line = element("li"), time = element("time", "", moment(step.at));
      time.dateTime = step.at;
      line.append(time, element("b", "", words(step.what)));
      if (step.connection) line.append(element("p", "", `over connection ${step.connection}`));
      if (step.action) line.append(element("p", "", step.action));
      line.dataset.kind = ["acknowledged", "opened", "clicked"].includes(step.what) ? "good" : "work";
      return line;
    }));
  } catch (error) { show("sentence", told(error)); at("steps").replaceChildren(); }
});

refresh();
