// One job: its facts, its payload and its history, in a panel beside the list.
//
// A payload is shown as JSON where it is some, as text where it is text, and else as bytes.

import { ago, at, bytes, element, moment, request, rows, show, spanShort } from "./console.js";

/** Bytes of a payload that is no text that are shown. */
const DUMPED_MAX = 1024;

const KINDS = {
  put: "wait", reserved: "work", extended: "work", released: "bad", lease_expired: "bad", buried: "bad", revived: "wait",
  dead: "bad", edited: "wait", settled: "good", forwarded: "good", deleted: "bad", expired: "bad", trimmed: "",
};

const EVENTS = {
  put: "Put", reserved: "Reserved", extended: "Lease made longer", released: "Released, to be tried again", lease_expired: "Lease ran out",
  buried: "Buried", revived: "Taken back", dead: "Dead", edited: "Changed", settled: "Settled", forwarded: "Forwarded",
  deleted: "Deleted", expired: "Time to live over", trimmed: "What was before is gone with its part of the journal",
};

let open = null; // The id of the job that is shown.
let payload = { text: "", pretty: null };
let raw = false;

/** Opens the panel for a job; `actionsOf(job)` gives its buttons: [name, class, act]. */
export async function showJob(id, actionsOf, closed) {
  open = id;
  show("job-title", `Job ${id}`);
  at("job").onclose = () => { open = null; closed(); };
  if (!at("job").open) {
    for (const part of ["job-facts", "job-history", "job-actions"]) at(part).replaceChildren();
    show("job-what", "");
    show("job-payload", "");
    at("job").showModal();
  }
  const [job, history] = await Promise.all([read(`/api/jobs/${id}`), read(`/api/jobs/${id}/history`)]);
  if (open !== id) return;
  if (job.problem) show("job-what", job.status === 404 ? "It is not here any more: done, deleted, or never put." : job.problem.detail);
  else showFacts(job.value);
  if (job.problem) at("job-facts").replaceChildren();
  at("job-actions").replaceChildren(...(job.problem ? [] : actionsOf(job.value)).map(([name, className, act]) => {
    const button = element("button", className, name);
    button.type = "button";
    button.addEventListener("click", act);
    return button;
  }));
  showPayload(job.value);
  showHistory(history.problem ? [] : history.value.events, history.problem);
}

async function read(path) {
  const answer = await request(path);
  const value = await answer.json();
  return answer.ok ? { value } : { problem: value, status: answer.status };
}

function showFacts(job) {
  const word = element("span", "word", job.state[0].toUpperCase() + job.state.slice(1));
  word.dataset.state = job.state;
  at("job-what").replaceChildren(word, document.createTextNode(` in ${job.queue}`));
  const when = (text) => `${moment(text)} (${ago(text)})`;
  rows("job-facts", [
    ["Put", when(job.put_at)],
    [job.state === "delayed" || job.state === "due" ? "Due" : "Was due", when(job.due_at)],
    ["Attempts", `${job.attempts} of ${job.attempts_max}`],
    ["Priority", job.priority],
    job.lease_until && ["Lease ends", when(job.lease_until)],
    job.expires_at && ["Goes by itself", when(job.expires_at)],
    job.key && ["Key", job.key],
    job.principal && ["Principal", job.principal],
    job.reason && ["Last error", job.reason, "wide"],
  ]);
}

// ---- The payload

function showPayload(job) {
  payload = { text: "", pretty: null };
  if (job?.payload !== undefined) {
    payload.text = job.payload;
    try {
      const value = JSON.parse(job.payload);
      if (typeof value === "object" && value !== null) payload.pretty = JSON.stringify(value, null, 2);
    } catch { /* It is text, which is fine. */ }
  } else if (job?.payload_base64 !== undefined) {
    payload.text = job.payload_base64;
    payload.pretty = dump(Uint8Array.from(atob(job.payload_base64), (letter) => letter.charCodeAt(0)));
  }
  show("job-bytes", job ? bytes(job.payload_bytes) : "");
  at("job-raw").hidden = payload.pretty === null;
  at("job-copy").hidden = !job;
  at("job-payload").hidden = !job;
  drawPayload();
}

function drawPayload() {
  at("job-raw").setAttribute("aria-pressed", raw);
  show("job-payload", raw || payload.pretty === null ? payload.text || "(empty)" : payload.pretty);
}

function dump(all) {
  const lines = [];
  for (let from = 0; from < Math.min(all.length, DUMPED_MAX); from += 16) {
    const part = [...all.slice(from, from + 16)];
    const hex = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(47);
    const text = part.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${from.toString(16).padStart(4, "0")}  ${hex}  ${text}`);
  }
  if (all.length > DUMPED_MAX) lines.push(`… ${bytes(all.length - DUMPED_MAX)} more`);
  return lines.join("\n");
}

at("job-raw").addEventListener("click", () => { raw = !raw; drawPayload(); });
at("job-copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText(payload.text);
  show("job-copy", "Copied");
  setTimeout(() => show("job-copy", "Copy"), 1500);
});
at("job-close").addEventListener("click", () => at("job").close());
at("job").addEventListener("click", (event) => { if (event.target === at("job")) at("job").close(); });

// ---- The history

function showHistory(events, problem) {
  if (!events.length) {
    at("job-history").replaceChildren(element("li", "", problem ? problem.detail : "Nothing is known of it."));
    return;
  }
  at("job-history").replaceChildren(...events.map((event, index) => {
    const line = element("li");
    line.dataset.kind = KINDS[event.event] ?? "";
    const time = element("time", "", moment(event.at));
    time.dateTime = event.at;
    time.title = ago(event.at);
    const attempt = event.attempt ? `, attempt ${event.attempt}` : "";
    line.append(time, element("b", "", (EVENTS[event.event] ?? event.event) + attempt));
    const said = [];
    if (event.worker) said.push(`by ${event.worker}`);
    if (event.queue) said.push(`into ${event.queue}`);
    if (event.job) said.push(`as job ${event.job}`);
    if (event.lease_until) said.push(`lease until ${new Date(event.lease_until).toLocaleTimeString()}`);
    if (event.due_at && Date.parse(event.due_at) > Date.parse(event.at) + 999) {
      const name = event.event === "put" ? "due" : "next try";
      said.push(`${name} ${spanShort(Date.parse(event.due_at) - Date.parse(event.at))} later`);
    }
    const began = events[index + 1];
    const ended = ["settled", "released", "buried", "dead", "forwarded", "lease_expired"].includes(event.event);
    if (ended && began?.event === "reserved") said.push(`after ${spanShort(Date.parse(event.at) - Date.parse(began.at))}`);
    if (said.length) line.append(element("p", "", said.join(" · ")));
    if (event.reason) line.append(element("p", "error", event.reason));
    return line;
  }));
}
