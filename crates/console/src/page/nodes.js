// The page of nodes: this node's listeners, loops and shards, and the nodes of its cluster where it is of one.

import { ago, ask, at, bytes, cell, count, element, looking, onKey, rows, show, showState, span, spanShort, words, refill } from "./console.js";
import { figure, headLink, word } from "./cells.js";

const refresh = looking(async (mine) => {
  const [node, { cluster }] = await Promise.all([ask("/api/node"), ask("/api/cluster").catch((error) => {
    // A node that joins or leaves has no cluster to show yet.
    if (error.problem?.status !== 503) throw error;
    return { cluster: null };
  })]);
  if (!mine()) return;
  showState(node.state, words(node.state));
  show("sum-state", cluster?.node ?? words(node.state));
  show("sum-version", node.version);
  show("sum-up", span(node.uptime_s));
  show("sum-pid", node.pid);
  show("sum-connected", count(node.connected));
  show("sum-sessions", count(node.sessions));
  show("sum-memory", bytes(Object.values(node.bytes_held).reduce((sum, held) => sum + held, 0)));
  rows("listeners", node.listeners.map(({ name, address }) => [name, address]));
  showLoops(node.loops);
  at("shard-none").hidden = node.shards.length > 0;
  refill("shard-rows", node.shards.map((shard) => {
    const row = element("tr"), head = element("th", "", `Shard ${shard.shard}`);
    head.scope = "row";
    row.append(
      head, word(shard.serving ? "Serving" : shard.trouble ?? "Not serving", ""), figure(shard.jobs, "Jobs"), figure(shard.mailbox_commands, "Mailbox"), cell(bytes(shard.state_bytes), "State"),
      cell(bytes(shard.segment_bytes), "On disk"), cell(bytes(shard.live_bytes), "Of that alive"), cell(shard.checkpoint_at ? ago(shard.checkpoint_at) : "none yet", "Checkpoint"),
      cell(spanShort(shard.recovery_expected_ms), "Recovery"),
    );
    return row;
  }));
  at("cluster-card").hidden = !cluster;
  if (!cluster) return;
  refill("node-rows", cluster.nodes.map((one) => {
    const row = element("tr");
    const tags = [one.node === cluster.node && "this node", one.node === cluster.planner && "plans"].filter(Boolean).join(", ");
    row.append(headLink(tags ? `${one.node} (${tags})` : one.node, `/cluster?node=${encodeURIComponent(one.node)}`), word(words(one.state), "State"), figure(one.owned, "Owned"), figure(one.standby, "Standby"), figure(one.in_step, "In step"));
    return row;
  }));
});
onKey(refresh);

function showLoops(loops) {
  at("loops").replaceChildren(...loops.map((loop, index) => {
    const row = element("div", "bar-row"), bar = element("div", "bar"), filled = element("i");
    const percent = Math.round(100 * Math.max(0, Math.min(1, loop.busy_ratio)));
    filled.style.width = `${percent}%`;
    bar.append(filled);
    bar.setAttribute("role", "meter");
    bar.setAttribute("aria-label", `Loop ${index}`);
    bar.setAttribute("aria-valuemin", 0);
    bar.setAttribute("aria-valuemax", 100);
    bar.setAttribute("aria-valuenow", percent);
    row.append(element("span", "", `Loop ${index} · ${count(loop.connections)} connections${loop.mailbox_depth ? ` · ${count(loop.mailbox_depth)} waiting` : ""}`), element("b", "", `${percent}%`), bar);
    return row;
  }));
}

refresh();
