// The page of MQTT sessions: of connected devices and of those away, with their subscriptions; a connection can be cut.

import { confirmed } from "./confirm.js";
import { ago, ask, at, cell, change, count, element, looking, moment, onKey, onTyped, rows, say, show, showState, told, refill } from "./console.js";
import { paging } from "./paging.js";
import { figure, word } from "./cells.js";

const PAGE = 50;
let connected = "";
at("search").value = new URLSearchParams(location.search).get("search") ?? "";

const refresh = looking(async (mine) => {
  const query = new URLSearchParams({ limit: PAGE });
  const search = at("search").value.trim();
  if (search) query.set("search", search);
  if (connected) query.set("connected", connected);
  if (pages.cursor) query.set("after", pages.cursor);
  const answer = await ask(`/api/devices?${query}`);
  if (!mine()) return;
  showState("ready", "Ready");
  at("session-none").hidden = answer.devices.length > 0;
  refill("session-rows", answer.devices.map(row));
  pages.came(answer.next);
});
const pages = paging({ refresh });
onKey(refresh);
function begin() {
  const search = at("search").value.trim();
  history.replaceState(null, "", search ? `/sessions?search=${encodeURIComponent(search)}` : "/sessions");
  pages.reset();
  refresh();
}
onTyped("search", begin);
at("filter").addEventListener("click", (event) => {
  if (event.target.dataset.connected === undefined) return;
  connected = event.target.dataset.connected;
  for (const button of at("filter").children) button.setAttribute("aria-pressed", button === event.target);
  begin();
});

function row(session) {
  const made = element("tr"), head = element("th"), open = element("button", "open", session.id), tools = cell("");
  head.scope = "row";
  head.title = session.id;
  open.type = "button";
  open.addEventListener("click", () => openSession(session.id));
  head.append(open);
  if (session.connected) {
    const cut = element("button", "small danger", "Cut");
    cut.type = "button";
    cut.setAttribute("aria-label", `Cut the connection of ${session.id}`);
    cut.addEventListener("click", () => cutOff(session.id));
    tools.append(cut);
  }
  const { connection } = session;
  made.append(
    head, word(session.connected ? "Connected" : "Away", "State"), word(connection?.connected_at ? ago(connection.connected_at) : null, "Since"), word(connection?.address, "From"),
    word(connection && protocolOf(connection), "Protocol"), figure(session.subscription_count, "Subscriptions"), figure(session.in_flight, "In flight"), figure(session.queued, "Queued"), tools,
  );
  return made;
}

const protocolOf = (connection) => [connection.mqtt_version && `MQTT ${connection.mqtt_version}`, connection.transport].filter(Boolean).join(", ");

async function openSession(id) {
  try {
    const session = await ask(`/api/devices/${encodeURIComponent(id)}`);
    const { connection } = session;
    show("session-title", session.id);
    rows("session-facts", [
      ["State", session.connected ? "Connected" : "Away"], connection?.connected_at && ["Connected", moment(connection.connected_at)],
      connection?.address && ["From", connection.address], connection && ["Protocol", protocolOf(connection)],
      connection?.username && ["User name", connection.username], connection?.keepalive_s && ["Keep-alive", `${connection.keepalive_s} s`],
      session.session_expires_at && ["Session ends", moment(session.session_expires_at)], ["In flight", count(session.in_flight)], ["Queued", count(session.queued)],
    ]);
    const subscriptions = session.subscriptions ?? [];
    show("session-count", count(session.subscription_count));
    refill("subscription-rows", subscriptions.map(({ filter, qos }) => {
      const line = element("tr"), head = element("th", "", filter);
      head.scope = "row";
      line.append(head, cell(qos, "QoS"));
      return line;
    }));
    at("session").showModal();
  } catch (error) { say(told(error), "error"); }
}
at("session-close").addEventListener("click", () => at("session").close());

async function cutOff(id) {
  const text = "The connection is closed now; the session stays, and the device may connect again. To keep it out, revoke the device.";
  if (!(await confirmed({ title: `Cut ${id}?`, text, yes: "Cut", danger: true }))) return;
  try {
    await change("DELETE", `/api/devices/${encodeURIComponent(id)}/connection`);
    say("Cut");
    refresh();
  } catch (error) { say(told(error), "error"); }
}

refresh();
