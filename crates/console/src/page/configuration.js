// The page of the configuration: each setting in force, its default, and the place that it comes from.

import { ask, at, cell, count, element, looking, onKey, onTyped, show, showState, refill } from "./console.js";

/** Settings change with a restart alone. */
const PERIOD = 60_000;

let settings = [], file = null, onlySet = false;

const refresh = looking(async (mine) => {
  const answer = await ask("/api/configuration");
  if (!mine()) return undefined;
  ({ settings, file } = answer);
  showState("ready", "Ready");
  lay();
  return PERIOD;
});
onKey(refresh);
onTyped("search", lay);
at("filter").addEventListener("click", (event) => {
  if (event.target.dataset.set === undefined) return;
  onlySet = event.target.dataset.set === "true";
  for (const button of at("filter").children) button.setAttribute("aria-pressed", button === event.target);
  lay();
});

let shown = "";

function lay() {
  const search = at("search").value.trim().toLowerCase();
  const found = settings.filter((one) => (one.is_set || !onlySet) && [one.name, one.value, one.help].some((text) => text.toLowerCase().includes(search)));
  show("says", `${count(found.length)} of ${count(settings.length)} settings${file ? ` · ${file}` : ", no file"}`);
  at("setting-none").hidden = found.length > 0;
  // They do not change while the server runs: the rows stay as they are, and so does what is selected in them.
  const now = found.map(({ name }) => name).join();
  if (now === shown && at("setting-rows").children.length) return;
  shown = now;
  refill("setting-rows", found.map((one) => {
    const row = element("tr"), head = element("th", "", one.name);
    head.scope = "row";
    const value = cell(`${one.value}${one.unit && /^\d/.test(one.value) ? ` ${one.unit}` : ""}`, "Value", one.is_set ? "text set" : "text");
    row.append(head, value, cell(one.is_set ? one.default : "–", "Default", one.is_set ? "text" : "text nothing"), cell(one.is_set ? one.from : "default", "From", one.is_set ? "text" : "text nothing"), cell(one.help, "", "text help"));
    return row;
  }));
}

refresh();
