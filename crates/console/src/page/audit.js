// The page of the audit log: who changed what, newest first, searched and paged.

import { ask, at, cell, element, looking, moment, onKey, onTyped, showState, refill } from "./console.js";
import { paging } from "./paging.js";
import { word } from "./cells.js";

const PAGE = 50;
let only = "";

const refresh = looking(async (mine) => {
  const skip = Number(pages.cursor ?? 0);
  const query = new URLSearchParams({ limit: PAGE + 1, skip });
  if (only) query.set("outcome", only);
  if (at("search").value.trim()) query.set("search", at("search").value.trim());
  const { entries } = await ask(`/api/audit?${query}`);
  if (!mine()) return;
  showState("ready", "Ready");
  const shown = entries.slice(0, PAGE);
  at("audit-none").hidden = shown.length > 0;
  refill("audit-rows", shown.map(row));
  pages.came(entries.length > PAGE ? skip + PAGE : null);
});
const pages = paging({ refresh });
onKey(refresh);
onTyped("search", () => { pages.reset(); refresh(); });
at("filter").addEventListener("click", (event) => {
  if (event.target.dataset.only === undefined) return;
  only = event.target.dataset.only;
  for (const button of at("filter").children) button.setAttribute("aria-pressed", button === event.target);
  pages.reset();
  refresh();
});

function row(entry) {
  const made = element("tr"), head = element("th"), time = element("time", "", moment(entry.at));
  head.scope = "row";
  time.dateTime = entry.at;
  head.append(time);
  const answer = cell(entry.status, "Answer", entry.status < 400 ? "" : "bad");
  if (entry.code) {
    const link = element("a", "", `${entry.status} ${entry.code}`);
    link.href = `/docs/errors/${encodeURIComponent(entry.code)}`;
    answer.replaceChildren(link);
  }
  const path = word(entry.made ?? entry.path, "Of");
  path.title = entry.path ?? "";
  const who = word(entry.name || entry.key, "By");
  who.title = entry.key;
  made.append(head, who, word(entry.role, "Role"), word(entry.address, "From"), word(entry.route, "Change"), path, cell(entry.times ?? 1, "Times", entry.times ? "" : "nothing"), answer);
  return made;
}

refresh();
