// The history's page: the fleet over the last hour or day, as the server keeps it.
//
// The server keeps it in its process: after a restart it begins anew.

import { Chart } from "./chart.js";
import { ask, at, bytes, count, element, looking, ms, onKey, onTheme, rate, short, show, showState, span as spanOf } from "./console.js";

const CHARTS = [
  { title: "Connected devices", series: [{ colour: "--ice", fill: true }], of: (p) => [p.connected], format: (n) => short.format(n), say: count, floor: 10 },
  { title: "Deliveries a second", series: [{ colour: "--lamp", fill: true }], of: (p) => [p.deliveries], format: (n) => short.format(n), say: rate, floor: 10 },
  { title: "Delivery latency", keys: [["half", ""], ["99%", "p99"]], series: [{ colour: "--ice" }, { colour: "--lamp", dash: [5, 4] }], of: (p) => [p.latency.p50_ms, p.latency.p99_ms], format: ms, say: ms, scale: "log", floor: 1 },
  { title: "Published a second", series: [{ colour: "--grass", fill: true }], of: (p) => [p.publishes], format: (n) => short.format(n), say: rate, floor: 10 },
  { title: "Connects and closes a second", keys: [["connects", ""], ["closes", "p99"]], series: [{ colour: "--ice" }, { colour: "--lamp", dash: [5, 4] }], of: (p) => [p.connects, p.closes], format: (n) => short.format(n), say: rate, floor: 10 },
  { title: "Messages given up a second", series: [{ colour: "--alarm", fill: true }], of: (p) => [p.drops], format: (n) => short.format(n), say: rate, floor: 1 },
  { title: "The busiest loop", series: [{ colour: "--grass", fill: true }], of: (p) => [p.busy_ratio * 100], format: (n) => `${Math.round(n)}%`, say: (n) => `${Math.round(n)}%`, floor: 100 },
  { title: "Memory held", series: [{ colour: "--ice", fill: true }], of: (p) => [p.bytes_held], format: bytes, say: bytes, floor: 1_000_000 },
];

const query = new URLSearchParams(location.search);
let span = query.get("span") === "day" ? "day" : "hour";

const drawn = CHARTS.map((about, index) => {
  const card = element("section", "card chart"), head = element("div", "head"), title = element("h2", "", about.title);
  const now = element("p", "number small", "–"), canvas = element("canvas"), axis = element("p", "axis note");
  title.id = `h-chart-${index}`;
  card.setAttribute("aria-labelledby", title.id);
  canvas.setAttribute("role", "img");
  axis.append(element("span"), element("span"), element("span", "", "now"));
  head.append(title);
  if (about.keys) {
    const keys = element("span", "keys");
    keys.append(...about.keys.map(([name, kind]) => element("span", `line ${kind}`, name)));
    head.append(keys);
  }
  card.append(head, now, canvas, axis);
  at("charts").append(card);
  return { ...about, now, canvas, axis, chart: null };
});

onTheme(() => drawn.forEach(({ chart }) => chart?.draw()));

const refresh = looking(async (mine) => {
  const asked = span;
  const { step_s: step, points_max: most, points } = await ask(`/api/history?span=${asked}`);
  if (!mine() || asked !== span) return undefined;
  showState("ready", "Ready");
  for (const one of drawn) {
    one.chart ??= new Chart(one.canvas, one);
    one.chart.pointsMax = most;
    one.chart.set(points.map(one.of));
    const newest = points.length ? one.of(points.at(-1)) : [];
    one.now.textContent = newest.map((value) => (value === null ? "–" : one.say(value))).join(" · ") || "–";
    const known = points.flatMap(one.of).filter((value) => value !== null);
    one.canvas.setAttribute("aria-label", known.length ? `${one.title}: at most ${one.say(Math.max(...known))}, at least ${one.say(Math.min(...known))}` : `${one.title}: nothing yet`);
    const [from, half] = one.axis.children;
    from.textContent = asked === "hour" ? "1 h ago" : "1 d ago";
    half.textContent = asked === "hour" ? "30 min" : "12 h";
  }
  const kept = spanOf(points.length * step);
  show("says", points.length ? `${kept} are kept so far, a point every ${step} s. The server keeps them in memory: a restart begins anew.` : `The first point comes ${step} s after the start.`);
  // Nothing changes between two points.
  return step * 500;
});
onKey(refresh);

function lay() {
  for (const button of at("spans").querySelectorAll("button")) button.setAttribute("aria-pressed", button.dataset.span === span);
}
at("spans").addEventListener("click", (event) => {
  if (!event.target.dataset.span) return;
  span = event.target.dataset.span;
  history.replaceState(null, "", span === "hour" ? "/history" : "/history?span=day");
  lay();
  refresh();
});

lay();
refresh();
