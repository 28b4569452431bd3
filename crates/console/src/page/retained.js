// The page of retained messages: by topic filter and principal, paged; those that match can be removed.
//
// A topic has bytes of any device's choosing: it is only ever set as text.

import { confirmed } from "./confirm.js";
import { ago, ask, at, bytes, cell, change, count, element, looking, onKey, onTyped, say, show, showState, told, refill } from "./console.js";
import { paging } from "./paging.js";
import { word } from "./cells.js";

const PAGE = 50;

/** The query of what is asked for. */
function asked() {
  const query = new URLSearchParams();
  for (const [name, field] of [["filter", "search"], ["principal", "principal"]]) if (at(field).value.trim()) query.set(name, at(field).value.trim());
  return query;
}

const refresh = looking(async (mine) => {
  const query = asked();
  query.set("limit", PAGE);
  if (pages.cursor) query.set("from", pages.cursor);
  let answer;
  try {
    answer = await ask(`/api/retained?${query}`);
  } catch (error) {
    // A filter that is half typed is wrong, and no reason to think that the server is gone.
    if (error.problem?.status !== 400 || !mine()) throw error;
    showState("ready", "Ready");
    return show("wrong", error.message);
  }
  if (!mine()) return;
  showState("ready", "Ready");
  show("wrong", "");
  const filtered = asked().size > 0;
  at("remove").disabled = !filtered || !answer.messages.length;
  at("retained-none").hidden = answer.messages.length > 0;
  show("retained-none", filtered ? "No retained message matches." : "No message is retained. MQTT clients retain the last message of a topic with the flag RETAIN.");
  refill("retained-rows", answer.messages.map((message) => {
    const row = element("tr"), head = element("th", "", message.topic);
    head.scope = "row";
    head.title = message.topic;
    row.append(
      head, word(message.principal === null || message.principal === undefined ? "the server" : message.principal || "anonymous", "Set by"), cell(message.set_at ? ago(message.set_at) : "–", "Set"),
      cell(message.expires_at ? ago(message.expires_at) : "never", "Ends"), cell(message.qos, "QoS"), cell(bytes(message.payload_bytes), "Payload"), cell(bytes(message.bytes), "Memory"),
    );
    return row;
  }));
  pages.came(answer.next);
});
const pages = paging({ refresh });
onKey(refresh);
for (const field of ["search", "principal"]) onTyped(field, () => { pages.reset(); refresh(); });

/** All that match, a thousand a request. */
async function remove(dryRun) {
  let [sum, from] = [0, null];
  do {
    const query = asked();
    if (dryRun) query.set("dry_run", "true");
    if (from) query.set("from", from);
    const answer = await change("DELETE", `/api/retained?${query}`);
    sum += answer.removed;
    from = answer.next;
  } while (from);
  return sum;
}

at("remove").addEventListener("click", async () => {
  try {
    const matching = await remove(true);
    const name = at("search").value.trim() || at("principal").value.trim();
    const text = `${count(matching)} messages go for good. Devices that have them are not told; new subscribers no longer get them.`;
    if (!(await confirmed({ title: "Remove these retained messages?", text, yes: "Remove", danger: true, type: name }))) return;
    say(`${count(await remove(false))} removed`);
    pages.reset();
    refresh();
  } catch (error) { say(told(error), "error"); }
});

refresh();
