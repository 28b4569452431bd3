// The live page: reads /api/live as server-sent events and shows what it says.
//
// Server-sent events are read with fetch, because EventSource cannot send a header with the key.

import { Chart } from "./chart.js";
import {
  at, bytes, count, element, ms, onKey, onTheme, rate, refused, request, short, show, showState, span, whole, words,
} from "./console.js";
import { Lights } from "./lights.js";

// ---- The pictures

const lights = new Lights(at("lights"));
const charts = {
  deliveries: new Chart(at("chart-deliveries"), { series: [{ colour: "--lamp", fill: true }], format: (n) => short.format(n), floor: 10 }),
  latency: new Chart(at("chart-latency"), {
    series: [{ colour: "--ice" }, { colour: "--lamp", dash: [5, 4] }], scale: "log", format: ms, floor: 1,
  }),
  connects: new Chart(at("chart-connects"), { series: [{ colour: "--grass", fill: true }], format: (n) => short.format(n), floor: 10 }),
  connected: new Chart(at("chart-connected"), { series: [{ colour: "--ice", fill: true }], format: (n) => short.format(n), floor: 10 }),
};

onTheme(() => {
  lights.recolour();
  Object.values(charts).forEach((chart) => chart.draw());
});

// ---- What the events show

function onHistory(points) {
  charts.deliveries.set(points.map((p) => [p.deliveries]));
  charts.latency.set(points.map((p) => [p.latency.p50_ms, p.latency.p99_ms]));
  charts.connects.set(points.map((p) => [p.connects]));
  charts.connected.set(points.map((p) => [p.connected]));
  seen = points.at(-1)?.at_ms ?? 0;
}

let seen = 0;

function onSample(s) {
  document.body.classList.remove("stale");
  showState(s.state, { ready: "Ready", draining: "Draining", starting: "Starting" }[s.state] ?? s.state);
  show("uptime", span(s.uptime_s));
  show("version", s.version);
  show("connected", count(s.connected));
  show("connected-small", count(s.connected));
  show("sessions", count(s.sessions));
  show("subscriptions", count(s.subscriptions));
  show("retained", count(s.retained));
  show("publishes", rate(s.per_s.publishes_in));
  show("deliveries", rate(s.per_s.deliveries));
  show("deliveries-total", count(s.deliveries_total));
  show("bytes-out", `${bytes(s.per_s.bytes_out)}/s`);
  show("connects", rate(s.per_s.connects));
  show("connects-total", count(s.connects_total));
  show("closes-rate", rate(s.per_s.closes));
  show("p50", ms(s.latency.p50_ms));
  show("p99", ms(s.latency.p99_ms));
  document.title = `${count(s.connected)} connected · Stadium`;

  lights.show(s.connected);
  lights.deliver(s.per_s.deliveries);
  show("per-light", lights.perLight === 1 ? "One light is one device" : `One light is ${whole.format(lights.perLight)} devices`);
  at("lights").setAttribute("aria-label", `The stands: ${lights.lit} of ${lights.seats.length} lights are on`);

  if (s.at_ms > seen) {
    seen = s.at_ms;
    charts.deliveries.add([s.per_s.deliveries]);
    charts.latency.add([s.latency.p50_ms, s.latency.p99_ms]);
    charts.connects.add([s.per_s.connects]);
    charts.connected.add([s.connected]);
  }
  showLoops(s.loops);
  for (const group of ["closes", "drops", "auth_failures"]) showTallies(group, s[group]);
  showMemory(s);
  if (s.push) onPush(s.push);
}

let pushSeen = { id: "", part: 0 };

function onPush(push) {
  // The lights are the connected devices: those away have none to flash.
  const reachable = push.targeted - push.not_connected;
  const part = reachable > 0 ? push.sent / reachable : 0;
  if (push.id !== pushSeen.id) pushSeen = { id: push.id, part: 0 };
  if (part > pushSeen.part) {
    lights.light(pushSeen.part, Math.min(1, part));
    pushSeen.part = part;
  }
  const to = push.to === "everybody" ? "everybody"
    : push.to.channel !== undefined ? `channel ${push.to.channel}`
    : push.to.registered !== undefined ? `registered devices ${JSON.stringify(push.to.registered)}`
    : push.to.device !== undefined ? `device ${push.to.device}` : `${count(push.to.device_count)} devices`;
  const when = new Date(push.accepted_at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  show("push-what", `To ${to} at ${when} · QoS ${push.qos} · ${bytes(push.payload_bytes)} · ${push.id}`);
  const status = at("push-status");
  status.dataset.status = push.status;
  status.textContent = { accepted: "Accepted", sending: "Sending", settled: "✓ Settled" }[push.status] ?? push.status;
  const of = (n) => (push.targeted && !push.counting ? Math.min(100, (100 * n) / push.targeted) : 0);
  const percent = (n) => { if (push.counting) return "…"; const p = of(n); return p > 99.95 || p === 0 ? `${p.toFixed(0)}%` : `${Math.min(99.9, p).toFixed(1)}%`; };
  // Each loop reports its own devices: until all have, the count is of some of them.
  show("push-targeted", push.counting ? `${count(push.targeted)} so far` : count(push.targeted));
  show("push-sent", `${count(push.sent)} · ${percent(push.sent)}`);
  show("push-acknowledged", push.qos === 0 ? "not asked at QoS 0" : `${count(push.acknowledged)} · ${percent(push.acknowledged)}`);
  fill("bar-targeted", push.targeted && !push.counting ? 100 : 0);
  fill("bar-sent", of(push.sent));
  fill("bar-acknowledged", of(push.acknowledged));
  const summary = push.qos === 0 ? push.sent_latency : push.acknowledged_latency;
  const some = summary.count > 0;
  show("push-last", ms(push.qos === 0 ? push.last_sent_ms : push.last_acknowledged_ms));
  show("push-p50", some ? ms(summary.p50_ms) : "–");
  show("push-p99", some ? ms(summary.p99_ms) : "–");
  show("push-away", count(push.not_connected));
  show("push-expired", count(push.expired));
  show("push-dropped", count(push.dropped));
}

function fill(id, percent) {
  const bar = at(id);
  bar.firstElementChild.style.width = `${percent}%`;
  if (bar.hasAttribute("role")) bar.setAttribute("aria-valuenow", Math.round(percent));
}

function showLoops(loops) {
  const box = at("loops");
  if (!loops.length) return;
  // Rows are kept, so that their bars move instead of jumping.
  if (box.children.length !== loops.length || !box.querySelector(".loop")) {
    box.replaceChildren(...loops.map((_, index) => {
      const row = element("div", "loop");
      const bar = element("div", "bar");
      bar.append(element("i"));
      bar.setAttribute("role", "meter");
      bar.setAttribute("aria-label", `Loop ${index}`);
      bar.setAttribute("aria-valuemin", 0);
      bar.setAttribute("aria-valuemax", 100);
      row.append(element("span", "", `Loop ${index}`), bar, element("b"), element("p", "note"));
      return row;
    }));
  }
  loops.forEach((loop, index) => {
    const [, bar, value, note] = box.children[index].children;
    const percent = Math.max(0, Math.min(100, 100 * loop.busy_ratio));
    bar.className = `bar ${percent >= 90 ? "hot" : percent >= 70 ? "warm" : ""}`;
    bar.firstElementChild.style.width = `${percent}%`;
    bar.setAttribute("aria-valuenow", Math.round(percent));
    value.textContent = `${percent.toFixed(0)}%`;
    const waiting = loop.mailbox_depth ? ` · ${count(loop.mailbox_depth)} waiting` : "";
    note.textContent = `${count(loop.connections)} connections · ${rate(loop.deliveries_per_s)}/s${waiting}`;
  });
}

function rows(id, made, nothing) {
  if (!made.length) {
    const row = element("tr"), cell = element("td", "empty", nothing);
    row.append(cell);
    made = [row];
  }
  at(id).replaceChildren(...made);
}

function showTallies(id, tallies) {
  const most = tallies.filter((tally) => tally.total > 0).sort((a, b) => b.total - a.total).slice(0, 7);
  rows(id, most.map((tally) => {
    const row = element("tr"), name = element("th", "", words(tally.reason));
    name.scope = "row";
    name.title = tally.reason;
    row.append(name, element("td", tally.per_s > 0 ? "rate now" : "rate", rate(tally.per_s)), element("td", "", count(tally.total)));
    return row;
  }), "None so far");
}

function showMemory(s) {
  const held = Object.entries(s.bytes_held);
  const total = held.reduce((sum, [, value]) => sum + value, 0);
  show("memory-total", bytes(total));
  show("memory-device", s.connected ? bytes(total / s.connected) : "–");
  rows("memory", held.filter(([, value]) => value > 0).map(([name, value]) => {
    const row = element("tr"), head = element("th", "", words(name));
    head.scope = "row";
    row.append(head, element("td", "rate", `${((100 * value) / total).toFixed(0)}%`), element("td", "", bytes(value)));
    return row;
  }), "Nothing yet");
}

// ---- The stream

const handlers = { history: onHistory, sample: onSample, push: onPush };

async function read(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const text of events) {
      let name = "message", data = "";
      for (const line of text.split("\n")) {
        if (line.startsWith("event:")) name = line.slice(6).trim();
        else if (line.startsWith("data:")) data += line.slice(5);
      }
      if (data) handlers[name]?.(JSON.parse(data));
    }
  }
}

async function follow() {
  let wait = 1000;
  for (;;) {
    try {
      const answer = await request("/api/live");
      if (await refused(answer)) return;
      if (answer.ok) {
        wait = 1000;
        await read(answer.body);
      } else {
        showState("lost", (await answer.json()).title);
      }
    } catch (error) {
      console.debug("the live view ended", error);
    }
    document.body.classList.add("stale");
    if (at("state").dataset.state !== "lost") showState("lost", "Reconnecting");
    // Pages that lost the same server do not all come back in the same moment.
    await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())));
    wait = Math.min(10_000, wait * 2);
  }
}
onKey(follow);
follow();
