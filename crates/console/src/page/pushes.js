// The pushes' page: all of an app, and one as it goes on, with why a device did or did not get it.
//
// /pushes shows the list, /pushes/ID one push. While one goes on, the server tells each half second what changed.

import { Chart } from "./chart.js";
import { ago, ask, at, cell, count, element, looking, moment, ms, onKey, onTheme, refused, request, rows, say, short, show, showState, words } from "./console.js";
import { change, figure, headLink, of, page, showApps, told, word } from "./platform.js";

const PAGE = 25;
const [, id] = location.pathname.match(/^\/pushes\/(.+)$/) ?? [];
let before = null;

const chart = new Chart(at("series"), {
  series: [{ colour: "--ice", fill: true }, { colour: "--lamp", dash: [4, 3] }], format: (n) => short.format(n), floor: 1, pointsMax: 120,
});
onTheme(() => chart.draw());

at("list").hidden = Boolean(id);
at("one").hidden = !id;
at("to-list").href = page("/pushes");
at("push-none").querySelector("a").href = page("/compose");

const refresh = looking((mine) => (id ? refreshOne(mine) : refreshList(mine)));
onKey(refresh);

// ---- The list

async function refreshList(mine) {
  const query = new URLSearchParams({ limit: PAGE });
  if (before) query.set("before", before);
  const [, answer] = await Promise.all([showApps(), ask(of(`/pushes?${query}`))]);
  if (!mine()) return;
  showState("ready", "Ready");
  at("push-none").hidden = answer.pushes.length > 0;
  at("push-rows").replaceChildren(...answer.pushes.map((push) => {
    const row = element("tr"), counts = push.counts;
    row.append(
      headLink(nameOf(push), page(`/pushes/${push.id}`)), cell(ago(push.accepted_at), "Accepted"), word(push.live ? `${words(push.status)}, live` : words(push.status), "Status"),
      figure(counts.targeted, "Targeted"), figure(counts.delivered, "Delivered"), figure(counts.waiting + counts.owed + counts.in_flight, "Owed"),
      figure(counts.opened, "Opened"), figure(counts.clicked, "Clicked"), figure(counts.expired, "Expired"),
    );
    return row;
  }));
  at("first").hidden = !before;
  at("on").disabled = !answer.next;
  at("on").onclick = () => { before = answer.next; refresh(); };
}
at("first").addEventListener("click", () => { before = null; refresh(); });

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
  if (over || streaming) return;
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
  show("status", push.live ? `${words(push.status)}, live` : words(push.status));
  at("status").dataset.status = push.status;
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
  try {
    showPush(await change("POST", of(`/pushes/${encodeURIComponent(id)}/cancel`)));
    say("Cancelled");
  } catch (error) { say(told(error), "error"); }
});

at("why").addEventListener("submit", async (event) => {
  event.preventDefault();
  const device = at("why-device").value.trim();
  try {
    const trace = await ask(of(`/pushes/${encodeURIComponent(id)}/devices/${encodeURIComponent(device)}`));
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
