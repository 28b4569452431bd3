// The cluster's page: its nodes, its shards by owner, moves, lag and links, as one node knows them. It asks that node's
// public API every two seconds.
//
// The address says what is shown: /cluster?node= for the shards of one node, with #shard-N for a shard. A shard's cell
// has its owner's letter too, so that colour alone says nothing.

import { ago, ask, at, bytes, cell, count, element, looking, moment, ms, onKey, rows, show, showState, spanShort, words, refill } from "./console.js";

/** All shards that a cluster may have: one request. */
const SHARDS = 1024;

/** From so many shards on the cells are small, and have letters alone. */
const MANY = 256;

/** Standbys that are listed as behind. */
const LAGS = 12;

let only = new URLSearchParams(location.search).get("node") ?? "";
let cluster = null;
let shards = [];
let focused = 0; // The cell that the Tab key reaches.

// ---- Nodes as letters and colours

/** A, B, .. Z, AA, AB, .. by the nodes' names. */
function letter(index) {
  const last = String.fromCharCode(65 + (index % 26));
  return index < 26 ? last : letter(Math.floor(index / 26) - 1) + last;
}

/** Blue, green, violet, teal, .. and no red, which is the alarm's. */
const hue = (index) => 40 + ((170 + index * 173) % 280);

const indexOf = (node) => cluster.nodes.findIndex((one) => one.node === node);

function swatch(node, gone = false) {
  const index = indexOf(node), made = element("i", gone ? "swatch gone" : "swatch", index < 0 ? "?" : letter(index));
  made.style.setProperty("--hue", hue(index));
  made.setAttribute("aria-hidden", "true");
  return made;
}

// ---- Looking

const refresh = looking(async (mine) => {
  const answer = await ask("/api/cluster");
  const page = answer.cluster && (await ask(`/api/cluster/shards?limit=${SHARDS}`));
  if (!mine()) return;
  at("alone").hidden = Boolean(answer.cluster);
  at("one").hidden = !answer.cluster;
  if (!answer.cluster) {
    showState("ready", "Standalone");
    return;
  }
  cluster = answer.cluster;
  shards = page.shards;
  document.title = `${cluster.name} · Stadium`;
  showVerdict();
  showOwners();
  showGrid();
  showNodes();
  showMoves();
  showLag();
  showLinks();
  shardOfAddress();
});
onKey(refresh);

const some = (number, one, many = `${one}s`) => (number === 1 ? `1 ${one}` : `${count(number)} ${many}`);

function verdict() {
  const { problems } = cluster, unowned = problems.no_owner + problems.not_assigned + problems.unreadable;
  if (unowned) return ["bad", `${some(unowned, "shard has", "shards have")} no owner`];
  if (problems.few_standbys) return ["thin", `All shards are served, ${some(problems.few_standbys, "lacks", "lack")} a standby in step`];
  return ["good", "All shards are served, with standbys in step"];
}

function showVerdict() {
  const { problems } = cluster, [kind, text] = verdict();
  show("h-cluster", cluster.name);
  show("as-seen", `As ${cluster.node} knows it`);
  at("balancing").hidden = cluster.balancing;
  at("verdict").dataset.kind = kind;
  // A status that is set anew is read out anew.
  const said = cluster.standbys === 0 && kind === "good" ? "All shards are served, without standbys" : text;
  if (at("verdict").textContent !== said) show("verdict", said);
  const alive = cluster.nodes.filter((node) => node.state !== "away").length;
  show("sum-nodes", alive === cluster.nodes.length ? count(alive) : `${count(alive)} of ${count(cluster.nodes.length)}`);
  show("sum-shards", count(cluster.shards));
  show("sum-unowned", count(problems.no_owner + problems.not_assigned + problems.unreadable));
  show("sum-thin", count(problems.few_standbys));
  show("sum-moves", count(cluster.moves.length));
  show("sum-waiting", count(cluster.commands_waiting));
  const trouble = troubles();
  at("trouble").hidden = !trouble;
  if (at("trouble").textContent !== trouble) show("trouble", trouble);
  showState(...{ good: ["ready", "Ready"], thin: ["starting", "Few standbys"], bad: ["lost", "Not all served"] }[kind]);
}

function troubles() {
  if (cluster.etcd === "away") return `${cluster.node} does not reach etcd, and shows what it knew last: ${cluster.etcd_trouble}`;
  if (cluster.etcd === "refused") return `The cluster refuses ${cluster.node}: ${cluster.etcd_trouble}`;
  if (!cluster.registered) return `${cluster.node} is not registered in etcd.`;
  return cluster.lease_certain ? "" : `${cluster.node} is not certain of its lease: each of its reads costs a commit.`;
}

// ---- Shards

function showOwners() {
  const names = cluster.nodes.map((node) => node.node);
  if (only && !names.includes(only)) only = "";
  const wanted = ["", ...names];
  const buttons = [...at("owners").children];
  if (buttons.map((button) => button.dataset.node).join("\n") !== wanted.join("\n")) {
    at("owners").replaceChildren(...wanted.map((name) => {
      const button = element("button");
      button.type = "button";
      button.dataset.node = name;
      button.append(...(name ? [swatch(name), name] : ["All"]), element("b"));
      return button;
    }));
  }
  for (const button of at("owners").children) {
    const node = cluster.nodes.find((one) => one.node === button.dataset.node);
    button.setAttribute("aria-pressed", button.dataset.node === only);
    button.querySelector("b").textContent = count(node ? node.owned : cluster.shards);
  }
}

at("owners").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  only = button.dataset.node === only ? "" : button.dataset.node;
  history.replaceState(null, "", address());
  showOwners();
  showGrid();
});

const address = () => (only ? `/cluster?node=${encodeURIComponent(only)}` : "/cluster");
const problemWords = { no_owner: "no owner", few_standbys: "few standbys in step", one_zone: "all replicas in one zone", not_assigned: "not assigned", unreadable: "its entry in etcd cannot be read" };
const stateWords = { in_step: "in step", behind: "not in step", away: "away" };

/** A shard in a sentence: of the tooltip, and for readers of screens. */
function sentence(shard) {
  const owner = shard.owner ? `owned by ${shard.owner}` : "no owner";
  const standbys = shard.standbys.map((one) => `standby ${one.node} ${stateWords[one.state]}`);
  return [`Shard ${shard.shard}`, owner, ...standbys, ...(shard.moving ? ["moving"] : [])].join(", ");
}

function showGrid() {
  const grid = at("grid");
  grid.classList.toggle("many", shards.length >= MANY);
  while (grid.children.length > shards.length) grid.lastChild.remove();
  while (grid.children.length < shards.length) {
    const made = element("button", "cell");
    made.type = "button";
    made.append(element("span"), element("small"));
    grid.append(made);
  }
  focused = Math.min(focused, Math.max(0, shards.length - 1));
  shards.forEach((shard, place) => {
    const made = grid.children[place], text = sentence(shard), index = shard.owner === null ? -1 : indexOf(shard.owner);
    const thin = shard.moving || shard.standbys.some((one) => one.state !== "in_step") || shard.problems.includes("few_standbys");
    const kind = `cell${shard.owner === null ? " lost" : thin ? " hatched" : ""}${only && shard.owner !== only ? " dim" : ""}`;
    if (made.className !== kind) made.className = kind;
    made.tabIndex = place === focused ? 0 : -1;
    if (made.dataset.text === `${index} ${text}`) return;
    made.dataset.text = `${index} ${text}`;
    made.style.setProperty("--hue", hue(Math.max(0, index)));
    made.children[0].textContent = shard.shard;
    made.children[1].textContent = index < 0 ? "–" : letter(index);
    made.title = text;
    made.setAttribute("aria-label", text);
  });
  const hatched = shards.filter((shard) => shard.moving || shard.problems.length).length;
  show("shards-say", hatched ? `${count(hatched)} of ${count(shards.length)} moving or with a problem` : `all ${count(shards.length)} as they should be`);
}

/** How many cells stand in a line. */
function columns() {
  const cells = [...at("grid").children], top = cells[0]?.offsetTop;
  const next = cells.findIndex((one) => one.offsetTop !== top);
  return next < 0 ? cells.length : next;
}

at("grid").addEventListener("keydown", (event) => {
  const place = [...at("grid").children].indexOf(document.activeElement), last = shards.length - 1;
  const to = {
    ArrowRight: place + 1, ArrowLeft: place - 1, ArrowDown: place + columns(), ArrowUp: place - columns(), Home: 0, End: last,
  }[event.key];
  if (place < 0 || to === undefined) return;
  event.preventDefault();
  if (to >= 0 && to <= last) at("grid").children[to].focus();
});
at("grid").addEventListener("focusin", (event) => {
  at("grid").children[focused]?.setAttribute("tabindex", "-1");
  focused = [...at("grid").children].indexOf(event.target);
  event.target.tabIndex = 0;
});
at("grid").addEventListener("click", (event) => {
  const place = [...at("grid").children].indexOf(event.target.closest(".cell"));
  if (place >= 0) openShard(shards[place].shard);
});

// ---- One shard

function openShard(number) {
  history.replaceState(null, "", `${address()}#shard-${number}`);
  shardOfAddress();
}

/** Shows the shard of the address, or shows it anew. */
function shardOfAddress() {
  const [, number] = location.hash.match(/^#shard-(\d+)$/) ?? [];
  const shard = number !== undefined && shards.find((one) => one.shard === Number(number));
  if (!shard) return;
  const way = cluster.moves.find((one) => one.shard === shard.shard);
  show("shard-title", `Shard ${shard.shard}`);
  show("shard-what", shard.problems.length ? words(shard.problems.map((one) => problemWords[one]).join(", ")) : "Served, and as it should be");
  rows("shard-facts", [
    ["Owner", shard.owner ?? "none"],
    ["Generation", count(shard.generation)],
    way && ["On its way to", `${way.to}, ${words(way.step).toLowerCase()}`, "wide"],
  ]);
  rows("shard-standbys", shard.standbys.map((one) => [one.node, lagWords(one)]));
  at("shard-none").hidden = shard.standbys.length > 0;
  const to = shard.standbys.find((one) => one.state === "in_step")?.node ?? "NODE";
  show("shard-move", `stadium cluster move ${shard.shard} --to ${to}`);
  if (!at("shard").open) at("shard").showModal();
}

function lagWords({ state, lag }) {
  if (state !== "behind" || !lag) return words(stateWords[state]);
  const messages = lag.messages === undefined ? "" : `, ${some(lag.messages, "message")} behind`;
  return `${words(stateWords[state])} for ${spanShort(lag.ms)}${messages}`;
}

at("shard-close").addEventListener("click", () => at("shard").close());
at("shard").addEventListener("click", (event) => { if (event.target === at("shard")) at("shard").close(); });
at("shard").addEventListener("close", () => history.replaceState(null, "", address()));
addEventListener("hashchange", () => { if (cluster) shardOfAddress(); });

// ---- Nodes

function word(state, text) {
  const made = element("span", "word", text);
  made.dataset.state = state;
  return made;
}

function showNodes() {
  refill("node-rows", cluster.nodes.map((node) => {
    const { alive } = node, row = element("tr"), head = element("th");
    head.scope = "row";
    head.append(swatch(node.node, node.state === "away"), node.node);
    if (node.node === cluster.node) head.append(element("span", "tag", "This node"));
    if (node.node === cluster.planner) head.append(element("span", "tag", "Plans"));
    const state = cell("", "", "text"), addresses = cell("", "", alive ? "text addresses" : "text addresses nothing");
    state.append(word(node.state, words(node.state)));
    const listed = Object.entries(alive?.addresses ?? {}).map(([purpose, address]) => element("span", "", `${purpose} ${address}`));
    addresses.append(...(listed.length ? listed.flatMap((one, place) => (place ? [", ", one] : [one])) : ["–"]));
    const zero = (number) => (number ? "" : "nothing");
    const since = cell(alive?.registered_at ? ago(alive.registered_at) : "–", "Alive since", alive?.registered_at ? "" : "nothing");
    since.title = alive?.registered_at ? moment(alive.registered_at) : "";
    row.append(
      head, state, cell(alive?.zone ?? "–", "Zone", alive?.zone ? "text" : "text nothing"), cell(count(node.owned), "Owns", zero(node.owned)),
      cell(count(node.standby), "Standby of", zero(node.standby)),
      cell(count(node.in_step), "In step", node.in_step < node.standby ? "late" : zero(node.in_step)),
      since,
      cell(alive?.version ?? "–", "Version", alive ? "" : "nothing"), addresses,
    );
    return row;
  }));
}

// ---- Moves, lag, links

function showMoves() {
  const { moves, drains } = cluster;
  at("move-none").hidden = moves.length > 0;
  show("moves-say", moves.length ? `${count(moves.length)} on their way` : "");
  refill("move-rows", moves.map((way) => {
    const row = element("tr"), head = element("th"), link = element("a", "", `Shard ${way.shard}`), step = cell("", "", "text");
    head.scope = "row";
    link.href = `#shard-${way.shard}`;
    head.append(link);
    step.append(word(way.step, words(way.step)));
    if (way.lag?.messages !== undefined) step.append(element("small", "", ` ${count(way.lag.messages)} behind`));
    row.append(head, cell(way.from ?? "nobody", "From", "text"), cell(way.to, "To", "text"), step, cell(way.asked ? "an operator" : "the planner", "Asked by"));
    return row;
  }));
  at("drains").replaceChildren(...drains.map((drain) => {
    const left = drain.owned || drain.standby ? `owns ${count(drain.owned)}, standby of ${count(drain.standby)} still` : "has no shard any more";
    const made = element("li");
    made.append(word("draining", ""), element("b", "", drain.node), ` drains: ${left}`);
    return made;
  }));
}

function showLag() {
  const mine = shards.flatMap((shard) => shard.standbys.filter((one) => one.node === cluster.node).map((one) => ({ shard, ...one })));
  const behind = mine.filter((one) => one.state === "behind" || one.lag?.ms > 0).sort((one, other) => (other.lag?.ms ?? 0) - (one.lag?.ms ?? 0));
  show("lag-say", behind.length > LAGS ? `the ${LAGS} that are behind for longest, of ${count(behind.length)}` : behind.length ? `${count(behind.length)} of ${count(mine.length)} behind` : "");
  at("lag-none").hidden = behind.length > 0;
  show("lag-none", mine.length ? `${some(mine.length, "standby has", "standbys have")} all that the logs had half a second ago.` : "This node is no standby.");
  refill("lag-rows", behind.slice(0, LAGS).map(({ shard, lag }) => {
    const row = element("tr"), head = element("th"), link = element("a", "", `Shard ${shard.shard}`);
    head.scope = "row";
    link.href = `#shard-${shard.shard}`;
    head.append(link);
    row.append(
      head, cell(shard.owner ?? "nobody", "Owner", "text"), cell(lag?.messages === undefined ? "unknown" : count(lag.messages), "Messages behind"),
      cell(lag ? spanShort(lag.ms) : "unknown", "Behind for"),
    );
    return row;
  }));
}

function showLinks() {
  const nodes = [...new Set(cluster.links.map((link) => link.node))].sort();
  at("link-none").hidden = nodes.length > 0;
  refill("link-rows", nodes.map((node) => {
    const links = cluster.links.filter((link) => link.node === node), row = element("tr"), head = element("th");
    const sum = (name) => links.reduce((all, link) => all + link[name], 0);
    const up = links.filter((link) => link.up), trips = up.map((link) => link.round_trip_us).filter((one) => one !== undefined);
    head.scope = "row";
    head.append(swatch(node, up.length === 0), node);
    const taken = Math.max(...links.map((link) => link.pending_bytes / Math.max(1, link.pending_bytes_max)));
    const trip = cell(ms(trips.length ? Math.max(...trips) / 1000 : null), "Round trip", trips.length ? "" : "nothing");
    trip.title = "The longest of its links";
    row.append(
      head, cell(up.length === links.length ? `${count(up.length)}` : `${count(up.length)} of ${count(links.length)}`, "Up", up.length < links.length ? "bad" : ""), trip,
      cell(count(sum("pending")), "On their way", sum("pending") ? "" : "nothing"),
      cell(`${Math.ceil(taken * 100)}%`, "Credit taken", taken > 0.9 ? "late" : taken ? "" : "nothing"),
      cell(bytes(sum("sent_bytes")), "Sent"), cell(bytes(sum("received_bytes")), "Received"), cell(count(sum("failures")), "Failures", sum("failures") ? "" : "nothing"),
    );
    return row;
  }));
}

refresh();
