// The page that composes a push: whom, what, how, what a phone shows, a dry run, and send.
//
// A push has one id from the moment when it is composed: sending it twice, because an answer was lost, pushes it once.

import { builder } from "./builder.js";
import { confirmed } from "./confirm.js";
import { ask, at, count, element, looking, onKey, onTyped, say, show, showState } from "./console.js";
import { change, of, page, readJson, showApps, showPreview, told } from "./platform.js";

const id = crypto.randomUUID?.() ?? [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const variants = { platforms: {}, languages: {} };
const given = new URLSearchParams(location.search).get("audience");
if (given) at("audience").value = given;

const built = builder(at("builder"), (selector) => { at("audience").value = JSON.stringify(selector); });
function build() {
  try {
    built.show(readJson(at("audience").value));
  } catch {
    // Half typed: the clauses stay as they are.
  }
}
at("audience").addEventListener("input", build);
build();

const refresh = looking(async (mine) => {
  const [, { audiences }] = await Promise.all([showApps(), ask(of("/audiences"))]);
  if (!mine()) return;
  showState("ready", "Ready");
  if (at("saved").children.length !== audiences.length + 1) {
    at("saved").replaceChildren(...[{ name: "" }, ...audiences].map(({ name }) => {
      const option = element("option", "", name || "–");
      option.value = name;
      return option;
    }));
  }
});
onKey(refresh);

at("saved").addEventListener("change", () => {
  if (!at("saved").value) return;
  at("audience").value = JSON.stringify({ saved: at("saved").value });
  build();
});
at("when").addEventListener("change", () => { at("time").disabled = at("when").value === "now"; });

// ---- What a phone shows

/** A template with what is said without a value, else the name. */
const filled = (text) => text.replace(/\{\{\s*([^|}]+?)\s*(?:\|([^}]*))?\}\}/g, (_, name, without) => without ?? `‹${name}›`);

function phone() {
  show("shown-title", filled(at("title").value) || "Title");
  show("shown-body", filled(at("body").value));
  show("shown-for", "now");
  show("rendered-note", "");
}

/** The texts as the server makes them for one device: its variant, with its own values. */
async function asDevice() {
  const device = at("as-device").value.trim();
  const mine = (turn += 1);
  if (!device) return phone();
  try {
    const { rendered } = await change("POST", of(`/pushes?dry_run=true&device=${encodeURIComponent(device)}`), push());
    if (mine !== turn) return;
    if (rendered?.missing) return show("rendered-note", `${device} would be left out: it lacks a value for ${rendered.missing}.`);
    show("shown-title", rendered?.title ?? "");
    show("shown-body", rendered?.body ?? "");
    show("shown-for", device);
    show("rendered-note", rendered?.data ? `Data: ${JSON.stringify(rendered.data)}` : "");
  } catch (error) {
    if (mine === turn) show("rendered-note", told(error));
  }
}
let turn = 0;
for (const field of ["title", "body", "data", "as-device"]) onTyped(field, asDevice);
for (const field of ["title", "body"]) at(field).addEventListener("input", phone);
phone();

at("variant-add").addEventListener("click", () => {
  const key = at("variant").value.trim();
  const words = {};
  if (at("variant-title").value) words.title = at("variant-title").value;
  if (at("variant-body").value) words.body = at("variant-body").value;
  if (!key || !Object.keys(words).length) return say("A variant has a platform or a language, and a text of its own", "error");
  const kind = /^[a-z]{2,3}(-[A-Za-z0-9]+)*$/.test(key) && !["ios", "web"].includes(key) ? "languages" : "platforms";
  variants[kind][key] = words;
  for (const field of ["variant", "variant-title", "variant-body"]) at(field).value = "";
  showVariants();
});

function showVariants() {
  asDevice();
  at("variants").replaceChildren(...Object.entries(variants).flatMap(([kind, all]) => Object.keys(all).map((key) => {
    const button = element("button", "", `${key}: ${all[key].title ?? all[key].body} ✕`);
    button.type = "button";
    button.setAttribute("aria-label", `Take the variant for ${key} away`);
    button.addEventListener("click", () => { delete all[key]; showVariants(); });
    return button;
  })));
}

// ---- The push

function push() {
  const notification = {};
  for (const field of ["title", "body"]) if (at(field).value) notification[field] = at(field).value;
  if (at("data").value.trim()) notification.data = JSON.parse(at("data").value);
  for (const kind of ["platforms", "languages"]) if (Object.keys(variants[kind]).length) notification[kind] = variants[kind];
  const options = { priority: Number(at("priority").value), quiet_hours: at("quiet").value, holdout_percent: Number(at("holdout").value) };
  if (at("expiry").value) options.expiry_s = Number(at("expiry").value);
  if (at("pace").value) options.pace = { per_second: Number(at("pace").value) };
  if (at("collapse").value) options.collapse_key = at("collapse").value;
  const composed = { id, audience: readJson(at("audience").value), notification, options };
  const time = at("time").value;
  if (at("when").value !== "now" && !time) throw new Error("say at which time");
  if (at("when").value === "at") composed.when = { at: new Date(time).toISOString() };
  if (at("when").value === "local") composed.when = { local: time };
  return composed;
}

/** Has the push checked and its audience counted; nothing is pushed. */
async function dryRun() {
  show("wrong", "");
  try {
    const { preview } = await change("POST", of("/pushes?dry_run=true"), push());
    showPreview(at("preview"), preview);
    at("as-devices").replaceChildren(...preview.sample.map((device) => Object.assign(element("option"), { value: device })));
    if (!at("as-device").value && preview.sample.length) at("as-device").value = preview.sample[0];
    asDevice();
    return preview;
  } catch (error) {
    show("wrong", told(error));
    at("preview").replaceChildren();
    return null;
  }
}
at("dry").addEventListener("click", dryRun);

at("push").addEventListener("submit", async (event) => {
  event.preventDefault();
  const preview = await dryRun();
  if (!preview) return;
  const left = preview.missing_values.map(({ name, devices }) => ` ${count(devices)} lack a value for ${name}.`).join("");
  const text = preview.warning ? `Warning: ${preview.warning}.` : `It would reach ${count(preview.reached)} of ${count(preview.devices)} devices; ${count(preview.connected)} of them are connected now.${left}`;
  if (!(await confirmed({ title: "Send it?", text, yes: "Send" }))) return;
  try {
    const accepted = await change("POST", of("/pushes"), push());
    location.href = page(`/pushes/${accepted.id}`);
  } catch (error) { show("wrong", told(error)); }
});

refresh();
