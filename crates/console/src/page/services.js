// The page of services: the methods that this node serves over RPC, how others are found, requests of devices.

import { ask, at, cell, count, element, looking, ms, onKey, onTyped, rows, show, showState, words, refill } from "./console.js";
import { figure, word } from "./cells.js";

const refresh = looking(async (mine) => {
  const { server, discovery, requests } = await ask("/api/services");
  if (!mine()) return;
  showState("ready", "Ready");
  const facts = server ? [
    ["Connections", count(server.connections)], ["In flight", `${count(server.in_flight)} of ${count(server.limit)}`], ["Waiting", count(server.queued)],
    ["Streams", count(server.streams)], ["Load", `${Math.round(100 * server.load)}%`], ["Refused connections", count(server.connections_refused_total)],
  ] : [["Connections", "–"], ["In flight", "–"]];
  at("sums").replaceChildren(...facts.map(([name, value]) => {
    const fact = element("div");
    fact.append(element("dt", "", name), element("dd", "", value));
    return fact;
  }));
  const search = at("search").value.trim().toLowerCase();
  const asked = (method) => method.outcomes.reduce((sum, { total }) => sum + total, 0);
  const methods = (server?.methods ?? []).filter(({ route }) => route.toLowerCase().includes(search)).toSorted((one, other) => asked(other) - asked(one));
  at("method-none").hidden = methods.length > 0;
  show("method-none", server ? "No method is like that." : "This node serves no services: set rpc.listen.");
  refill("method-rows", methods.map((method) => {
    const row = element("tr"), head = element("th", "", method.route);
    head.scope = "row";
    const all = asked(method);
    const outcomes = method.outcomes.filter(({ total }) => total > 0).map(({ outcome, total }) => `${words(outcome)} ${count(total)}`).join(", ");
    row.append(head, figure(all, "Requests"), word(outcomes, "Outcomes"), cell(all ? ms(method.p50_ms) : "–", "Half within", all ? "" : "nothing"), cell(all ? ms(method.p99_ms) : "–", "99% within", all ? "" : "nothing"));
    return row;
  }));
  show("discovery-state", discovery ? (discovery.connected ? "Connected" : "Away") : "Off");
  at("discovery-state").dataset.status = discovery ? (discovery.connected ? "settled" : "sending") : "";
  rows("discovery", discovery
    ? [["Registrations", `${count(discovery.registered)} of ${count(discovery.registrations)} held`], ...discovery.troubles.map(({ outcome, total }) => [words(outcome), count(total)])]
    : [["Backend", "none: services are found by their settings"]]);
  rows("requests", [
    ["In flight", count(requests.in_flight)], ["Taken", count(requests.taken_total)], ["Refused", count(requests.refused_total)], ["Answers", count(requests.answers_total)],
    ["Answers dropped", count(requests.answers_dropped_total)],
  ]);
});
onKey(refresh);
onTyped("search", refresh);
refresh();
