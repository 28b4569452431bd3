// The queues' page: the list of queues, and one queue with its jobs. Both ask the public API every two seconds.
//
// The address says what is shown: /queues?sort=&state=&search=, and /queues/NAME?state=&key= with #job-ID for a job.

import { Chart } from "./chart.js";
import {
  ago, ask, at, bytes, cell, change as send, count, element, looking, onKey, onTheme, onTyped, rate, rows, say, served, short, show, spanShort, spark,
  words, refill,
} from "./console.js";
import { confirmed } from "./confirm.js";
import { showJob } from "./job.js";

const QUEUES_ON_PAGE = 50;
const JOBS_ON_PAGE = 25;
const STATES = [["due", "Due"], ["delayed", "Delayed"], ["reserved", "In flight"], ["buried", "Buried"], ["dead", "Dead"]];

/** A due job that waits so long is late. */
const LATE_MS = 60_000;

let view = readAddress();
let newest = null; // The newest answer about the queue that is shown.
const rates = new Chart(at("chart-rates"), {
  series: [{ colour: "--lamp", fill: true }, { colour: "--grass", dash: [6, 4] }], format: (n) => short.format(n), floor: 10, pointsMax: 60,
});
onTheme(() => rates.draw());

// ---- The address

function readAddress() {
  const query = new URLSearchParams(location.search);
  const [, name] = location.pathname.match(/^\/queues\/(.+)$/) ?? [];
  return {
    queue: name ? decodeURIComponent(name) : null,
    state: query.get("state") ?? "",
    search: query.get("search") ?? "",
    sort: query.get("sort") ?? "due",
    key: query.get("key") ?? "",
    skip: 0,
    after: null,
  };
}

function address() {
  const path = view.queue ? `/queues/${encodeURIComponent(view.queue)}` : "/queues";
  const query = new URLSearchParams();
  if (view.state) query.set("state", view.state);
  if (!view.queue && view.search) query.set("search", view.search);
  if (!view.queue && view.sort !== "due") query.set("sort", view.sort);
  if (view.queue && view.key) query.set("key", view.key);
  return query.size ? `${path}?${query}` : path;
}

/** Shows something else; a change of the filter replaces the address, a way to another queue is one to come back from. */
function go(change, kind = "replace") {
  view = { ...view, skip: 0, after: null, ...change };
  history[kind === "push" ? "pushState" : "replaceState"](null, "", address());
  lay();
  refresh();
}

addEventListener("popstate", () => {
  view = readAddress();
  lay();
  refresh();
  jobOfAddress();
});

function lay() {
  at("list").hidden = view.queue !== null;
  at("one").hidden = view.queue === null;
  document.title = view.queue ? `${view.queue} · Stadium` : "Queues · Stadium";
  if (view.queue) {
    show("h-queue", view.queue);
    if (newest?.name !== view.queue) {
      newest = null;
      rates.set([]);
      at("job-rows").replaceChildren();
      at("tiles").replaceChildren();
    }
    if (document.activeElement !== at("job-key")) at("job-key").value = view.key;
  } else {
    if (document.activeElement !== at("search")) at("search").value = view.search;
    at("sort").value = view.sort;
    for (const button of at("filter").children) button.setAttribute("aria-pressed", button.dataset.state === view.state);
  }
}

// ---- Asking

const refresh = looking((mine) => (view.queue ? refreshOne(mine) : refreshList(mine)));
onKey(() => { refresh(); jobOfAddress(); });

// ---- The list

async function refreshList(mine) {
  const query = new URLSearchParams({ sort: view.sort, limit: QUEUES_ON_PAGE, skip: view.skip });
  if (view.search) query.set("search", view.search);
  if (view.state) query.set("state", view.state);
  const live = await ask(`/api/live/queues?${query}`);
  if (!mine()) return;
  served(live.shards);
  const { all } = live;
  show("sum-queues", count(live.queue_count) + (live.complete ? "" : "+"));
  show("sum-due", count(all.jobs.due));
  show("sum-delayed", count(all.jobs.delayed));
  show("sum-reserved", count(all.jobs.reserved));
  show("sum-dead", count(all.jobs.dead + all.jobs.buried));
  show("sum-oldest", all.oldest_due_at ? spanShort(live.at_ms - Date.parse(all.oldest_due_at)) : "–");
  show("sum-put", rate(all.per_s.put));
  show("sum-settled", rate(all.per_s.settled));
  at("sum-put-line").replaceChildren(spark(all.put_line, "put"));
  at("sum-settled-line").replaceChildren(spark(all.settled_line, "settled"));
  refill("queue-rows", live.queues.map((queue) => queueRow(queue, live.at_ms)));
  const filtered = view.search || view.state;
  at("queue-none").hidden = live.queues.length > 0;
  show("queue-none", filtered ? "No queue is like that." : "No queue yet. The first put makes one: POST /api/queues/NAME/jobs");
  const first = live.found_count ? view.skip + 1 : 0, last = view.skip + live.queues.length;
  const of = `${count(live.found_count)}${live.complete ? "" : "+"} queues`;
  show("page-says", live.found_count ? `${count(first)} to ${count(last)} of ${of}` : "");
  at("page-back").disabled = view.skip === 0;
  at("page-on").disabled = last >= live.found_count;
  showShards(live.shards);
}

const figure = (value, label, className = "") => cell(count(value), label, value ? className : "nothing");

function queueRow(queue, now) {
  const row = element("tr"), head = element("th"), link = element("a", "", queue.name);
  head.scope = "row";
  link.href = `/queues/${encodeURIComponent(queue.name)}`;
  link.title = queue.name;
  link.addEventListener("click", (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go({ queue: queue.name, state: "", key: "" }, "push");
  });
  head.append(link);
  if (queue.paused) {
    const tag = element("span", "tag", "Paused");
    tag.dataset.status = "sending";
    head.append(tag);
  }
  const age = queue.oldest_due_at ? now - Date.parse(queue.oldest_due_at) : null;
  const oldest = cell(age === null ? "–" : spanShort(age), "Oldest", age === null ? "nothing" : age > LATE_MS ? "late" : "");
  row.append(
    head, figure(queue.jobs.due, "Due"), figure(queue.jobs.delayed, "Delayed"), figure(queue.jobs.reserved, "In flight"),
    figure(queue.jobs.buried, "Buried"), figure(queue.jobs.dead, "Dead", "bad"), oldest, figure(queue.waiting, "Waiting"),
    rateCell(queue.per_s.put, queue.put_line, "put", "Put/s"), rateCell(queue.per_s.settled, queue.settled_line, "settled", "Settled/s"),
  );
  return row;
}

function rateCell(now, line, className, label) {
  const quiet = !line.some((point) => point > 0);
  const made = cell("", label, quiet ? "nothing" : "");
  const box = element("div", "rate-cell");
  box.append(element("span", "", rate(now)), spark(line, className));
  made.append(box);
  return made;
}

function showShards(shards) {
  refill("shard-rows", shards.map((shard) => {
    const row = element("tr"), head = element("th", "", `Shard ${shard.shard}`);
    head.scope = "row";
    if (!shard.serving) {
      const tag = element("span", "tag", shard.trouble ?? "Not serving");
      tag.dataset.status = "sending";
      head.append(tag);
    }
    row.append(
      head, cell(count(shard.jobs)), cell(count(shard.mailbox_commands)), cell(bytes(shard.state_bytes)), cell(bytes(shard.segment_bytes)),
      cell(bytes(shard.live_bytes)), cell(shard.checkpoint_at ? ago(shard.checkpoint_at) : "none yet"), cell(spanShort(shard.recovery_expected_ms)),
    );
    return row;
  }));
}

const searchDone = onTyped("search", () => choose({}));
at("sort").addEventListener("change", () => choose({ sort: at("sort").value }));
at("filter").addEventListener("click", (event) => {
  if (event.target.dataset.state !== undefined) choose({ state: event.target.dataset.state });
});

/** Another choice of queues, with what was typed so far. */
function choose(change) {
  searchDone();
  go({ search: at("search").value.trim(), ...change });
}
at("page-back").addEventListener("click", () => go({ skip: Math.max(0, view.skip - QUEUES_ON_PAGE) }));
at("page-on").addEventListener("click", () => go({ skip: view.skip + QUEUES_ON_PAGE }));
at("to-list").addEventListener("click", (event) => {
  event.preventDefault();
  go({ queue: null, state: "", key: "" }, "push");
});

// ---- One queue

async function refreshOne(mine) {
  const name = encodeURIComponent(view.queue);
  const query = new URLSearchParams({ limit: JOBS_ON_PAGE, payload_bytes_max: 160 });
  if (view.state) query.set("state", view.state);
  if (view.key) query.set("key", view.key);
  if (view.after) query.set("after", view.after);
  const [queue, live, jobs, schedules] = await Promise.all([
    ask(`/api/queues/${name}`), ask(`/api/live/queues?queue=${name}`), ask(`/api/queues/${name}/jobs?${query}`), ask(`/api/queues/${name}/schedules`),
  ]);
  if (!mine()) return;
  served(live.shards);
  newest = queue;
  const now = live.queues[0];
  at("paused").hidden = !queue.paused;
  show("do-pause", queue.paused ? "Resume" : "Pause");
  at("do-kick").disabled = queue.jobs.buried === 0;
  at("do-redrive").disabled = queue.jobs.dead === 0;
  at("do-purge").hidden = queue.jobs.total === 0;
  at("do-drop").hidden = queue.jobs.total > 0;
  showTiles(queue.jobs);
  show("one-put", now ? rate(now.per_s.put) : "–");
  show("one-settled", now ? rate(now.per_s.settled) : "–");
  show("one-waiting", count(queue.waiting));
  show("one-oldest", queue.oldest_due_at ? ago(queue.oldest_due_at) : "none");
  rates.set(now ? now.put_line.map((put, index) => [put, now.settled_line[index] ?? null]) : []);
  rows("totals", Object.entries(queue.totals).map(([total, value]) => [words(total), count(value)]));
  showSettings(queue.settings);
  showJobs(jobs);
  showSchedules(schedules.schedules);
}

function showTiles(jobs) {
  const tiles = [["", "All", jobs.total], ...STATES.map(([state, name]) => [state, name, jobs[state]])];
  if (at("tiles").children.length !== tiles.length) {
    at("tiles").replaceChildren(...tiles.map(([state, name]) => {
      const tile = element("button");
      tile.type = "button";
      const word = element("small", state ? "word" : "", name);
      word.dataset.state = state;
      tile.append(word, element("b"));
      tile.addEventListener("click", () => chooseJobs({ state }));
      return tile;
    }));
  }
  tiles.forEach(([state, , jobs], index) => {
    const tile = at("tiles").children[index];
    tile.setAttribute("aria-pressed", state === view.state);
    tile.lastElementChild.textContent = count(jobs);
  });
}

function showSettings(settings) {
  const limit = (limit) => (limit ? `${rate(limit.rate)} a second, ${count(limit.burst)} at once` : "none");
  const { backoff, dead_letter: dead } = settings;
  rows("settings", [
    ["Lease", spanShort(settings.lease_ms)],
    ["Attempts", count(settings.attempts_max)],
    ["Back-off", `${spanShort(backoff.first_ms)} × ${backoff.factor} up to ${spanShort(backoff.max_ms)}`],
    ["Dead jobs", typeof dead === "string" ? { keep: `kept ${spanShort(settings.dead_ttl_ms)}`, discard: "discarded" }[dead] : `go to ${dead.queue}`],
    ["Jobs at most", count(settings.jobs_max)],
    ["Limit", limit(settings.limit)],
    ["For each key", limit(settings.key_limit)],
    ["Lives on", { one_shard: "one shard", all_shards: "all shards" }[settings.spread]],
  ]);
}

function showJobs(page) {
  refill("job-rows", page.jobs.map(jobRow));
  at("job-none").hidden = page.jobs.length > 0;
  show("job-none", view.state || view.key ? "No job is like that." : "The queue is empty.");
  show("jobs-say", page.jobs.length ? `${view.after ? "From further on: " : ""}${jobs(page.jobs.length)}${view.state ? ", oldest due first" : ", those that are due first"}` : "");
  at("jobs-first").hidden = view.after === null;
  at("jobs-on").disabled = page.next === null;
  at("jobs-on").onclick = () => go({ after: page.next });
}

function jobRow(job) {
  const row = element("tr"), head = element("th"), link = element("button", "open", job.id);
  head.scope = "row";
  link.type = "button";
  link.addEventListener("click", () => openJob(job.id));
  head.append(link);
  const state = element("td", "text"), word = element("span", "word", STATES.find(([name]) => name === job.state)[1]);
  word.dataset.state = job.state;
  state.append(word);
  const ends = job.lease_until ? `, lease ends ${ago(job.lease_until)}` : "";
  const due = cell(ago(job.due_at) + ends, "Due");
  due.title = job.due_at;
  const attempts = cell(`${job.attempts} of ${job.attempts_max}`, "Attempts", job.attempts ? "" : "nothing");
  const priority = cell(job.priority, "Priority", job.priority === 4 ? "nothing" : "");
  const key = cell(job.key ?? "–", "Key", job.key ? "text" : "text nothing");
  const payload = element("td", "text"), text = element("code", "peek", job.payload ?? `${bytes(job.payload_bytes)}, no text`);
  payload.append(text);
  const reason = element("td", job.reason ? "text bad" : "text nothing", job.reason ?? "–");
  reason.title = job.reason ?? "";
  row.append(head, state, due, attempts, priority, key, payload, reason);
  return row;
}

function showSchedules(schedules) {
  at("schedules-card").hidden = schedules.length === 0;
  refill("schedule-rows", schedules.map((schedule) => {
    const row = element("tr"), head = element("th", "", schedule.name), when = element("td");
    head.scope = "row";
    when.append(element("code", "", schedule.cron));
    const moment = (text) => (text ? ago(text) : "–");
    row.append(head, when, element("td", "", schedule.time_zone), element("td", "", moment(schedule.next_at)), element("td", "", moment(schedule.last_at)));
    return row;
  }));
}

const keyDone = onTyped("job-key", () => chooseJobs({}));

/** Another choice of jobs, with what was typed so far. */
function chooseJobs(change) {
  keyDone();
  go({ key: at("job-key").value.trim(), ...change });
}
at("jobs-first").addEventListener("click", () => go({ after: null }));

// ---- One job

function openJob(id) {
  history.replaceState(null, "", `${address()}#job-${id}`);
  showJob(id, jobActions, () => { history.replaceState(null, "", address()); refresh(); })
    .catch((error) => say(error.message, "error"));
}

function jobActions(job) {
  const act = (text, does) => async () => { if (await change(does, text)) openJob(job.id); };
  const queue = `/api/queues/${encodeURIComponent(job.queue)}`;
  const actions = [];
  if (job.state === "delayed") {
    actions.push(["Run now", "", act("Due now", () => send("PATCH", `/api/jobs/${job.id}`, { delay_ms: 0 }))]);
  }
  if (job.state === "buried") actions.push(["Kick", "", act("Due again", () => send("POST", `${queue}/kick`, { jobs: [job.id] }))]);
  if (job.state === "dead") actions.push(["Redrive", "", act("Due again", () => send("POST", `${queue}/redrive`, { jobs: [job.id] }))]);
  if (job.queue !== view.queue) {
    actions.push(["Its queue", "", () => { at("job").close(); go({ queue: job.queue, state: "", key: "" }, "push"); }]);
  }
  actions.push(["Delete", "danger", async () => {
    const lost = job.state === "reserved" ? " A worker has it now, and loses its lease." : "";
    if (!(await confirmed({ title: "Delete this job?", text: `It is taken out and does not come back.${lost}`, yes: "Delete", danger: true }))) return;
    if (await change(() => send("DELETE", `/api/jobs/${job.id}`), "Deleted")) openJob(job.id);
  }]);
  return actions;
}

function jobOfAddress() {
  const [, id] = location.hash.match(/^#job-(\d+)$/) ?? [];
  if (id) openJob(id);
}

at("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const id = at("find-job").value.trim().split("-")[0]; // A lease begins with its job's id.
  if (!/^\d+$/.test(id)) return say("A job's id is a number, as 18014398509481985", "error");
  at("find-job").value = "";
  openJob(id);
});

// ---- Changing something

/** Repeats what concerns a thousand jobs at most each time until none is left. */
async function sendAll(path) {
  let count = 0;
  for (;;) {
    const some = (await send("POST", path)).count;
    if (some === 0) return { count };
    count += some;
  }
}

/** Does it, and says what came of it. */
async function change(does, done) {
  try {
    const value = await does();
    say(typeof done === "function" ? done(value) : done);
    refresh();
    return true;
  } catch (error) {
    say(error.message, "error");
    return false;
  }
}

const jobs = (n) => (n === 1 ? "1 job" : `${count(n)} jobs`);
const path = () => `/api/queues/${encodeURIComponent(view.queue)}`;

at("do-pause").addEventListener("click", async () => {
  const paused = newest?.paused;
  const text = "Workers get nothing more from it until it is resumed; puts go on, and jobs that are in flight finish.";
  if (!paused && !(await confirmed({ title: `Pause ${view.queue}?`, text, yes: "Pause" }))) return;
  change(() => send("POST", `${path()}/${paused ? "resume" : "pause"}`), paused ? "Resumed" : "Paused");
});

at("do-kick").addEventListener("click", async () => {
  const text = `${jobs(newest.jobs.buried)} become due again, and their attempts start anew.`;
  if (!(await confirmed({ title: "Kick the buried jobs?", text, yes: "Kick" }))) return;
  change(() => sendAll(`${path()}/kick`), (value) => `${jobs(value.count)} due again`);
});

at("do-redrive").addEventListener("click", async () => {
  const text = `${jobs(newest.jobs.dead)} become due again, and their attempts start anew.`;
  if (!(await confirmed({ title: "Redrive the dead jobs?", text, yes: "Redrive" }))) return;
  change(() => sendAll(`${path()}/redrive`), (value) => `${jobs(value.count)} due again`);
});

at("do-purge").addEventListener("click", async () => {
  const { jobs: now } = newest;
  const choices = [["", `All but those in flight (${count(now.total - now.reserved)})`]];
  for (const [state, name] of STATES) if (now[state]) choices.push([state, `${name} (${count(now[state])})`]);
  const text = "They are taken out and do not come back. This needs the right queue.manage.";
  const answer = await confirmed({ title: `Purge ${view.queue}?`, text, yes: "Purge", danger: true, choices, choice: "Which jobs", type: view.queue });
  if (!answer) return;
  change(() => send("POST", `${path()}/purge`, answer.choice ? { state: answer.choice } : {}), (value) => `${jobs(value.count)} purged`);
});

at("do-drop").addEventListener("click", async () => {
  const text = "The empty queue goes with its settings, schedules and figures. A put into it makes another one. This needs the right queue.manage.";
  if (!(await confirmed({ title: `Drop ${view.queue}?`, text, yes: "Drop", danger: true, type: view.queue }))) return;
  if (await change(() => send("DELETE", path()), "Dropped")) go({ queue: null, state: "", key: "" }, "push");
});

lay();
refresh();
jobOfAddress();
