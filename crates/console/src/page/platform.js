// What the push platform's pages share: which app is looked at, changes over the API, selectors, states in words.
//
// The app is in the address (?app=), `default` unless it says another, and the links to the other pages keep it.

import { ask, at, count, element } from "./console.js";

export { figure, headLink, word } from "./cells.js";
export { change, told } from "./console.js";

export const app = new URLSearchParams(location.search).get("app") ?? "default";

/** The API's path of something of the app. */
export const of = (below) => `/api/apps/${encodeURIComponent(app)}${below}`;

/** The address of a page, for this app. */
export const page = (path) => (app === "default" ? path : `${path}${path.includes("?") ? "&" : "?"}app=${encodeURIComponent(app)}`);

for (const link of document.querySelectorAll("#below a")) link.href = page(link.getAttribute("href"));

/** Fills the choice of apps; another one is another address. */
export async function showApps() {
  const { apps } = await ask("/api/apps?limit=1000");
  const names = apps.map((one) => one.app);
  if (!names.includes(app)) names.push(app);
  if (at("app").children.length !== names.length) {
    at("app").replaceChildren(...names.map((name) => {
      const option = element("option", "", name);
      option.value = name;
      return option;
    }));
  }
  at("app").value = app;
  return apps.find((one) => one.app === app);
}
at("app").addEventListener("change", () => {
  const query = new URLSearchParams(location.search);
  query.set("app", at("app").value);
  location.href = `${location.pathname.replace(/^(\/(devices|pushes))\/.*/, "$1")}?${query}`;
});

/** What a text field says as JSON; a bare word such as all is one too. */
export function readJson(text) {
  const trimmed = text.trim();
  return /^[a-z]+$/.test(trimmed) ? trimmed : JSON.parse(trimmed);
}

/** Whom a preview says an audience reaches: figures, a bar for each clause, a sample. */
export function showPreview(into, preview) {
  const figures = element("dl", "sums");
  for (const [name, figure] of [
    ["Reached", preview.reached], ["Matched", preview.matched], ["Not opted in", preview.opted_out], ["Lack a value", preview.no_value],
    ["Held out", preview.held_out], ["Connected", preview.connected], ["Quiet now", preview.quiet], ["Had their fill", preview.capped],
  ]) {
    const fact = element("div");
    fact.append(element("dt", "", name), element("dd", "", count(figure)));
    fact.lastChild.dataset.figure = name;
    figures.append(fact);
  }
  const clauses = element("div", "clauses");
  for (const clause of preview.clauses) {
    const row = element("div", "bar-row"), bar = element("div", "bar"), filled = element("i");
    filled.style.width = `${preview.devices ? (100 * clause.matches) / preview.devices : 0}%`;
    bar.append(filled);
    row.append(element("span", "", clause.clause), element("b", "", `${count(clause.matches)} match, ${count(clause.keeps_out)} kept out`), bar);
    row.title = clause.path;
    clauses.append(row);
  }
  const parts = [figures, clauses];
  for (const { name, devices } of preview.missing_values.toReversed()) parts.unshift(element("p", "sample", `${count(devices)} left out: they lack a value for ${name}`));
  if (preview.evaluated < preview.matched) parts.push(element("p", "sample", `Estimated from a random sample of ${count(preview.evaluated)}.`));
  if (preview.warning) {
    parts.unshift(element("p", "error", preview.warning));
    parts[0].setAttribute("role", "alert");
  }
  if (preview.sample.length) parts.push(element("p", "sample", `Such as ${preview.sample.join(", ")}`));
  if (preview.expected_s !== null) parts.push(element("p", "sample", `The connected ones take ${Math.ceil(preview.expected_s)} s at this pace.`));
  into.replaceChildren(...parts);
}
