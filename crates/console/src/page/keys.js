// The page of API keys: lists them with their rights, makes, rotates, revokes and explains them.
//
// A secret is shown in one dialog, once. Closing the dialog removes it from the document.

import { confirmed } from "./confirm.js";
import { ago, ask, at, cell, change, count, element, looking, onKey, onTyped, say, show, showState, told, refill } from "./console.js";
import { word } from "./cells.js";

const ROLES = ["viewer", "sender", "bookkeeper", "worker", "operator", "admin"];
let keys = [];

at("roles").replaceChildren(...ROLES.map((role) => {
  const label = element("label"), box = element("input");
  box.type = "checkbox";
  box.value = role;
  label.append(box, ` ${role}`);
  return label;
}));

const refresh = looking(async (mine) => {
  const answer = await ask("/api/keys");
  if (!mine()) return;
  keys = answer.keys;
  showState("ready", "Ready");
  lay();
});
onKey(refresh);
onTyped("search", lay);

function lay() {
  const search = at("search").value.trim().toLowerCase();
  const found = keys.filter((key) => [key.name, key.id, key.prefix ?? "", ...key.roles, ...key.grants, ...(key.apps ?? [])].some((text) => text.toLowerCase().includes(search)));
  show("says", `${count(found.length)} of ${count(keys.length)} keys`);
  at("key-none").hidden = found.length > 0;
  refill("key-rows", found.map(row));
  if (at("explain-key").children.length !== keys.length) {
    at("explain-key").replaceChildren(...keys.map((key) => {
      const option = element("option", "", `${key.name} (${key.id})`);
      option.value = key.id;
      return option;
    }));
  }
}

function row(key) {
  const made = element("tr"), head = element("th", "", key.name), tools = cell("");
  head.scope = "row";
  head.title = key.name;
  const tool = (text, className, does) => {
    const button = element("button", `small ${className}`, text);
    button.type = "button";
    button.setAttribute("aria-label", `${text} ${key.name}`);
    button.addEventListener("click", does);
    tools.append(button, " ");
  };
  tool("Rotate", "", () => rotate(key));
  tool("Revoke", "danger", () => revoke(key));
  const rights = cell([...key.roles, ...key.grants].join(", "), "Rights", "text");
  rights.title = rights.textContent;
  const used = key.last_used_at ? `${ago(key.last_used_at)}${key.last_used_from ? ` from ${key.last_used_from}` : ""}` : "never";
  made.append(
    head, word(key.prefix ? `${key.id} · ${key.prefix}…` : key.id, "Id"), rights, word(key.apps ? key.apps.join(", ") : "all", "Apps"), cell(ago(key.created_at), "Made"),
    cell(key.expires_at ? ago(key.expires_at) : "never", "Ends"), cell(used, "Last used", key.last_used_at ? "" : "nothing"), tools,
  );
  return made;
}

async function rotate(key) {
  const choices = [["86400", "a day"], ["3600", "an hour"], ["604800", "a week"], ["0", "not at all"]];
  const text = "It gets another secret, which is shown once. The one before goes on working for a time, so that its users can change.";
  const answer = await confirmed({ title: `Rotate ${key.name}?`, text, yes: "Rotate", choices, choice: "The secret before works for" });
  if (!answer) return;
  await done(() => change("POST", `/api/keys/${encodeURIComponent(key.id)}/rotate`, { overlap_s: Number(answer.choice) }));
}

async function revoke(key) {
  const text = "It stops working at once, wherever it is in use, and cannot be brought back.";
  if (!(await confirmed({ title: `Revoke ${key.name}?`, text, yes: "Revoke", danger: true, type: key.name }))) return;
  await done(() => change("DELETE", `/api/keys/${encodeURIComponent(key.id)}`), "Revoked");
}

/** Does it, and shows the secret where there is one. */
async function done(does, text) {
  try {
    const value = await does();
    if (value?.secret) showSecret(value);
    if (text) say(text);
    refresh();
    return true;
  } catch (error) {
    say(told(error), "error");
    return false;
  }
}

function showSecret({ key, secret }) {
  show("secret-title", `The secret of ${key.name}`);
  show("secret-text", secret);
  at("secret").showModal();
}
at("secret").addEventListener("close", () => show("secret-text", ""));
at("secret-copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(at("secret-text").textContent);
    say("Copied");
  } catch {
    getSelection().selectAllChildren(at("secret-text"));
    say("Press Ctrl+C: this browser lets no page copy here", "error");
  }
});

at("new").addEventListener("submit", async (event) => {
  event.preventDefault();
  show("wrong", "");
  const list = (id, by) => at(id).value.split(by).map((text) => text.trim()).filter(Boolean);
  const body = { name: at("name").value.trim(), roles: [...at("roles").querySelectorAll(":checked")].map((box) => box.value), grants: list("grants", "\n") };
  const apps = list("apps", ",");
  if (apps.length) body.apps = apps;
  if (at("days").value) body.expires_in_s = Math.round(Number(at("days").value) * 86_400);
  try {
    showSecret(await change("POST", "/api/keys", body));
    at("new").reset();
    refresh();
  } catch (error) { show("wrong", told(error)); }
});

at("explain").addEventListener("submit", async (event) => {
  event.preventDefault();
  const query = new URLSearchParams({ verb: at("explain-verb").value.trim() });
  if (at("explain-resource").value.trim()) query.set("resource", at("explain-resource").value.trim());
  try {
    const answer = await ask(`/api/keys/${encodeURIComponent(at("explain-key").value)}/explain?${query}`);
    show("sentence", `${answer.allowed ? "Yes" : "No"}: ${answer.reason}`);
  } catch (error) { show("sentence", told(error)); }
});

refresh();
