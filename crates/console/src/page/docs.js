// The API's reference: search, folding by address, and a form that tries an operation on this server.
//
// The document reads without this script. A request that changes something is asked back before it is sent.

import { confirmed } from "./confirm.js";
import { at, bytes, element, request, say, showState, words } from "./console.js";

const operations = [...document.querySelectorAll(".operation")];

// ---- The state in the header, of a server that may ask nobody for a key

async function look() {
  try {
    const answer = await fetch("/readyz", { cache: "no-store" });
    const { status, title } = await answer.json();
    showState(answer.ok ? "ready" : "starting", words(typeof status === "string" ? status : title ?? "Not ready"));
  } catch {
    showState("lost", "Away");
  }
}
look();

// ---- Search and addresses

at("search").addEventListener("input", () => {
  const parts = at("search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (text) => parts.every((part) => text.toLowerCase().includes(part));
  let any = false;
  for (const operation of operations) {
    operation.hidden = !fits(`${operation.dataset.method} ${operation.querySelector("summary").textContent}`);
    any ||= !operation.hidden;
    const link = document.querySelector(`.contents a[href="#${operation.id}"]`);
    if (link) link.parentElement.hidden = operation.hidden;
  }
  for (const section of document.querySelectorAll(".operations section")) {
    const all = [...section.querySelectorAll(".operation")];
    section.hidden = parts.length > 0 && all.every((operation) => operation.hidden);
  }
  for (const group of document.querySelectorAll(".contents details")) {
    const some = [...group.querySelectorAll("li")].some((item) => !item.hidden);
    group.hidden = !some;
    group.open = parts.length > 0 && some;
  }
  at("none").hidden = any;
});

function openAddressed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!named) return;
  if (named.matches(".operation")) named.open = true;
  named.scrollIntoView();
}
addEventListener("hashchange", openAddressed);

// ---- Each operation, once it is opened

for (const operation of operations) {
  operation.addEventListener("toggle", () => {
    if (!operation.open || operation.querySelector(".try")) return;
    for (const example of operation.querySelectorAll("pre.example")) copying(example);
    operation.append(trying(operation));
  });
}

function copying(example) {
  const button = element("button", "small copy", "Copy");
  button.type = "button";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(example.textContent);
      say("Copied");
    } catch {
      getSelection().selectAllChildren(example);
      say("Press Ctrl+C: this browser lets no page copy here", "error");
    }
  });
  example.before(button);
}

/** The form that tries an operation. */
function trying(operation) {
  const { method, path } = operation.dataset;
  const form = element("form", "try"), fields = element("div", "fields"), send = element("button", "main", "Send"), said = element("p", "note"), answer = element("pre", "answer");
  form.append(element("h3", "", "Try it on this server"), fields);
  const inputs = [...operation.querySelectorAll("dt[data-name]")].map((parameter) => {
    const { name, in: place, example } = parameter.dataset;
    const label = element("label", "", `${name} `), input = element("input");
    label.append(element("small", "unit", place), input);
    input.name = name;
    input.required = place === "path";
    input.placeholder = example;
    input.autocomplete = "off";
    input.spellcheck = false;
    if (place === "path") input.value = example;
    fields.append(label);
    return { name, place, input };
  });
  const body = bodyOf(operation);
  let text = null;
  if (body !== null) {
    const label = element("label", "whole", "Body");
    text = element("textarea");
    text.rows = Math.min(14, body.split("\n").length + 1);
    text.value = body;
    text.spellcheck = false;
    label.append(text);
    fields.append(label);
  }
  const actions = element("div", "actions");
  send.type = "submit";
  actions.append(send);
  form.append(actions, said, answer);
  said.setAttribute("role", "status");
  answer.hidden = true;
  answer.tabIndex = 0;
  answer.setAttribute("aria-label", "The answer");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    let asked = path;
    const query = new URLSearchParams(), headers = {};
    for (const { name, place, input } of inputs) {
      if (place === "path") asked = asked.replace(`{${name}}`, encodeURIComponent(input.value));
      else if (input.value && place === "query") query.set(name, input.value);
      else if (input.value && place === "header") headers[name] = input.value;
    }
    if (query.size) asked += `?${query}`;
    if (method !== "get" && !(await confirmed({ title: "Send it to this server?", text: `${method.toUpperCase()} ${asked}`, yes: "Send", danger: method === "delete" }))) return;
    if (text?.value.trim()) headers["content-type"] = "application/json";
    await sent({ method: method.toUpperCase(), headers, ...(text?.value.trim() ? { body: text.value } : {}) }, asked, said, answer);
  });
  return form;
}

/** The body in the example of an operation; null where it takes none. */
function bodyOf(operation) {
  const [, body] = operation.querySelector("pre.example")?.textContent.match(/-d '([\s\S]*)'$/) ?? [];
  return body === undefined ? null : body.replaceAll("'\\''", "'");
}

/** Answers that do not end are shown as far as they came in this time. */
const STREAM_MS = 3000;

/** Bytes of an answer that are shown. */
const SHOWN_MAX = 64 * 1024;

async function sent(options, path, said, answer) {
  const started = performance.now(), ended = new AbortController();
  said.textContent = "…";
  answer.hidden = true;
  try {
    const came = await request(path, { ...options, signal: ended.signal });
    const reader = came.body.pipeThrough(new TextDecoderStream()).getReader();
    const late = setTimeout(() => ended.abort(), STREAM_MS);
    let text = "", cut = "";
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        if (text.length > SHOWN_MAX) { cut = `, the first ${bytes(SHOWN_MAX)} of it`; ended.abort(); break; }
      }
    } catch { cut = `, as far as it came in ${STREAM_MS / 1000} s`; }
    clearTimeout(late);
    said.textContent = `${came.status} ${came.statusText} in ${Math.round(performance.now() - started)} ms, ${bytes(text.length)}${cut}`;
    answer.textContent = pretty(text.slice(0, SHOWN_MAX), came.headers.get("content-type") ?? "");
    answer.hidden = !text;
  } catch (error) {
    said.textContent = `No answer: ${error.message}`;
  }
}

function pretty(text, kind) {
  if (!kind.includes("json")) return text;
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

openAddressed();
