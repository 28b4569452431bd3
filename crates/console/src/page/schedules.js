// The schedules' page: what is made again and again, when next, and what became of the last occurrences.
//
// Each occurrence makes one push, to which its time leads.

import { confirmed } from "./confirm.js";
import { ago, ask, at, cell, element, looking, onKey, say, show, showState, refill } from "./console.js";
import { change, figure, of, page, readJson, showApps, told, word } from "./platform.js";

const refresh = looking(async (mine) => {
  const [, { schedules }] = await Promise.all([showApps(), ask(of("/schedules"))]);
  if (!mine()) return;
  showState("ready", "Ready");
  at("schedule-none").hidden = schedules.length > 0;
  refill("schedule-rows", schedules.map((schedule) => {
    const row = element("tr"), head = element("th"), open = element("button", "open", schedule.name);
    head.scope = "row";
    open.type = "button";
    open.addEventListener("click", () => fill(schedule));
    head.append(open);
    const last = cell("", "Last"), newest = schedule.last[0];
    if (newest?.push) {
      const link = element("a", "", ago(newest.at));
      link.href = page(`/pushes/${newest.push}`);
      last.append(link);
    } else { last.textContent = newest ? `${ago(newest.at)}, skipped` : "–"; }
    const tools = cell("");
    const tool = (text, method, below, done, sure = async () => true) => {
      const button = element("button", "small", text);
      button.type = "button";
      button.setAttribute("aria-label", `${text} ${schedule.name}`);
      button.addEventListener("click", async () => {
        if (!(await sure())) return;
        try {
          await change(method, of(`/schedules/${encodeURIComponent(schedule.name)}${below}`));
          say(`${schedule.name} ${done}`);
          refresh();
        } catch (error) { say(told(error), "error"); }
      });
      tools.append(button, " ");
    };
    if (schedule.paused) tool("Resume", "POST", "/resume", "goes on"); else tool("Pause", "POST", "/pause", "is paused");
    const text = "It makes no push any more, and its settings go. Pushes that it made stay.";
    tool("End …", "DELETE", "", "is ended", () => confirmed({ title: `End ${schedule.name}?`, text, yes: "End it", danger: true }));
    row.append(
      head, word(schedule.cron, "When"), word(schedule.time_zone, "Time zone"), word(schedule.paused ? "Paused" : "Active", "State"),
      cell(schedule.paused ? "–" : schedule.next[0] ? ago(schedule.next[0]) : "never", "Next"), last, figure(schedule.made, "Made"), figure(schedule.skipped, "Skipped"), tools,
    );
    return row;
  }));
});
onKey(refresh);

function fill(schedule) {
  at("name").value = schedule.name;
  at("cron").value = schedule.cron;
  at("zone").value = schedule.time_zone;
  at("late").value = schedule.missed.late_s ?? "";
  at("audience").value = JSON.stringify(schedule.push.audience);
  at("notification").value = JSON.stringify(schedule.push.notification ?? {}, null, 2);
}

at("set").addEventListener("submit", async (event) => {
  event.preventDefault();
  show("wrong", "");
  try {
    const body = {
      cron: at("cron").value.trim(), time_zone: at("zone").value.trim() || "UTC",
      push: { audience: readJson(at("audience").value), notification: JSON.parse(at("notification").value) },
    };
    if (at("late").value) body.missed = { late_s: Number(at("late").value) };
    const made = await change("PUT", of(`/schedules/${encodeURIComponent(at("name").value.trim())}`), body);
    say(`${made.name} is set, next ${made.next[0] ? ago(made.next[0]) : "never"}`);
    refresh();
  } catch (error) { show("wrong", told(error)); }
});

refresh();
