// The audiences' page: a selector as clauses and as JSON, with its live preview, and the saved ones.
//
// Clauses and JSON follow each other. The preview follows both; a mistake is reported with its path, where it stands.

import { at, ask, cell, element, looking, onKey, onTyped, say, show, showState, refill } from "./console.js";
import { builder } from "./builder.js";
import { confirmed } from "./confirm.js";
import { change, of, page, readJson, showApps, showPreview, told } from "./platform.js";

const refresh = looking(async (mine) => {
  const [, { audiences }] = await Promise.all([showApps(), ask(of("/audiences"))]);
  if (!mine()) return;
  showState("ready", "Ready");
  at("audience-none").hidden = audiences.length > 0;
  refill("audience-rows", audiences.map(({ name, audience }) => {
    const row = element("tr"), head = element("th"), open = element("button", "open", name), tools = cell(""), drop = element("button", "small danger", "Forget");
    head.scope = "row";
    open.type = drop.type = "button";
    open.addEventListener("click", () => {
      at("selector").value = JSON.stringify(audience, null, 2);
      at("name").value = name;
      built.show(audience);
      preview();
    });
    drop.setAttribute("aria-label", `Forget ${name}`);
    drop.addEventListener("click", async () => {
      const text = "Its selector goes for good. Pushes and schedules that name it find nobody from then on.";
      if (!(await confirmed({ title: `Forget the audience ${name}?`, text, yes: "Forget", danger: true, type: name }))) return;
      try {
        await change("DELETE", of(`/audiences/${name}`));
        say(`${name} is forgotten`);
        refresh();
      } catch (error) { say(told(error), "error"); }
    });
    head.append(open);
    tools.append(drop);
    row.append(head, cell(JSON.stringify(audience), "Selector", "text"), tools);
    return row;
  }));
});
onKey(() => { refresh(); preview(); });

const built = builder(at("builder"), (selector) => {
  at("selector").value = JSON.stringify(selector, null, 2);
  clearTimeout(soon);
  soon = setTimeout(preview, 200);
});
let turn = 0, soon = 0;

/** Counts whom the selector reaches; the newest answer is shown. */
async function preview() {
  const mine = (turn += 1);
  const wrong = (text) => {
    show("wrong", text);
    at("selector").setAttribute("aria-invalid", Boolean(text));
  };
  let audience;
  try {
    audience = readJson(at("selector").value);
  } catch (error) {
    return wrong(error.message);
  }
  at("compose").href = page(`/compose?audience=${encodeURIComponent(JSON.stringify(audience))}`);
  try {
    const counted = await change("POST", of("/audiences/preview"), { audience });
    if (mine !== turn) return;
    wrong("");
    showPreview(at("preview"), counted);
    show("took", `counted in ${(counted.took_us / 1000).toFixed(counted.took_us < 1000 ? 2 : 1)} ms`);
  } catch (error) {
    if (mine === turn) wrong(told(error));
  }
}
onTyped("selector", () => {
  try {
    built.show(readJson(at("selector").value));
  } catch {
    // Half typed: the clauses stay as they are, and the preview says what is wrong.
  }
  preview();
});
built.show(readJson(at("selector").value));

at("save").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const name = at("name").value.trim();
    await change("PUT", of(`/audiences/${encodeURIComponent(name)}`), { audience: readJson(at("selector").value) });
    say(`${name} is saved`);
    refresh();
  } catch (error) { say(told(error), "error"); }
});

refresh();
preview();
