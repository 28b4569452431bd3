// What a report gains with a script: a crosshair over all plots, lines that can be hidden, zoom by drag, a theme.
// Plots are drawn already; this moves view boxes and texts, and reads the values that stand beside each plot.
"use strict";
(() => {
  const thin = "\u202f";
  const number = (value) => {
    const size = Math.abs(value);
    if (!Number.isFinite(value)) return "–";
    if (size >= 99.95) return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, thin);
    if (size === 0) return "0";
    return size < 1e-6 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
  };
  const scaled = (value, base, units) => {
    let unit = 0;
    for (; Math.abs(value) >= base * 0.9995 && unit + 1 < units.length; unit++) value /= base;
    return number(value) + thin + units[unit];
  };
  const text = {
    time: (ns) => scaled(ns, 1000, ["ns", "µs", "ms", "s"]),
    rate: (value) => number(value) + "/s",
    bytes: (value) => scaled(value, 1000, ["B", "kB", "MB", "GB"]) + "/s",
    share: (value) => number(value * 100) + "%",
    count: number,
    plain: (value) => scaled(value, 1000, ["", "k", "M", "G", "T"]),
  };
  const moment = (at) => {
    if (at < 60) return number(Math.round(at * 100) / 100) + thin + "s";
    const whole = Math.round(at), pad = (part) => String(part).padStart(2, "0");
    const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
    return hours ? `${hours}:${pad(minutes)}:${pad(seconds)}` : `${minutes}:${pad(seconds)}`;
  };
  const percentile = (nines) => {
    const places = Math.max(0, Math.ceil(nines) - 1);
    return (100 - 100 * Math.pow(10, -nines)).toFixed(Math.min(places + 1, 7)) + "%";
  };
  const steps = [1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400];

  const plots = [...document.querySelectorAll(".plot")].map((figure) => {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const area = figure.querySelector(".area");
    const cursor = Object.assign(document.createElement("i"), { className: "cursor", hidden: true });
    area.append(cursor);
    area.tabIndex = 0;
    return {
      data, area, cursor, group: figure.dataset.group, svg: area.querySelector("svg"), out: figure.querySelector("output"),
      values: [...figure.querySelectorAll(".legend b")], keys: [...figure.querySelectorAll(".legend button")],
      across: figure.querySelector(".ticks-x"), ticks: figure.querySelector(".ticks-x").innerHTML,
      bands: [...figure.querySelectorAll(".band-name")], view: data.ends,
    };
  });

  const nearest = (list, at) => {
    let low = 0, high = list.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] < at) low = middle + 1; else high = middle;
    }
    return low > 0 && at - list[low - 1] < list[low] - at ? low - 1 : low;
  };

  // Shows all plots of a group at one place, or nowhere.
  const point = (group, at) => {
    for (const plot of plots) {
      if (plot.group !== group) continue;
      const [from, to] = plot.view, place = (at - from) / (to - from);
      const away = at === null || place < 0 || place > 1 || !plot.data.at.length;
      plot.cursor.hidden = away;
      plot.at = away ? null : at;
      if (away) {
        plot.out.textContent = "";
        plot.values.forEach((slot) => { slot.textContent = ""; });
        continue;
      }
      plot.cursor.style.left = place * 100 + "%";
      plot.out.textContent = group === "time" ? moment(at) : percentile(at);
      const index = nearest(plot.data.at, at);
      plot.data.lines.forEach((line, nth) => {
        const value = line.values[index];
        plot.values[nth].textContent = value === null ? "–" : text[plot.data.unit](value);
      });
    }
  };

  const zoom = (group, view) => {
    for (const plot of plots) {
      if (plot.group !== group) continue;
      const [first, last] = plot.data.ends;
      plot.view = view ?? plot.data.ends;
      const [from, to] = plot.view, whole = last - first;
      plot.svg.setAttribute("viewBox", `${(from - first) / whole * 1000} 0 ${(to - from) / whole * 1000} 200`);
      for (const band of plot.bands) {
        const left = Math.max(from, Number(band.dataset.from)), right = Math.min(to, Number(band.dataset.to));
        band.hidden = right <= left;
        band.style.left = (left - from) / (to - from) * 100 + "%";
        band.style.width = Math.max(0, right - left) / (to - from) * 100 + "%";
      }
      if (!view) { plot.across.innerHTML = plot.ticks; continue; }
      plot.across.replaceChildren();
      const tick = (at, says) => {
        const span = Object.assign(document.createElement("span"), { textContent: says });
        const place = (at - from) / (to - from) * 100;
        span.style.left = place + "%";
        span.style.transform = place < 3 ? "none" : place > 97 ? "translateX(-100%)" : "";
        plot.across.append(span);
      };
      const wanted = Math.max(2, Math.min(8, Math.floor(plot.area.clientWidth / 90)));
      if (group === "time") {
        const step = steps.find((step) => (to - from) / step <= wanted) ?? 86400;
        for (let nth = Math.ceil(from / step); nth * step <= to; nth++) tick(nth * step, moment(nth * step));
      } else {
        for (let nth = 0; nth < 4; nth++) tick(from + (to - from) * nth / 3, percentile(from + (to - from) * nth / 3));
      }
    }
    document.getElementById("unzoom").hidden = plots.every((plot) => plot.view === plot.data.ends);
  };

  for (const plot of plots) {
    const { area, group } = plot;
    let begun = null, picked = null;
    const place = (event) => {
      const box = area.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      return plot.view[0] + share * (plot.view[1] - plot.view[0]);
    };
    const drop = () => { begun = null; picked?.remove(); picked = null; };
    area.addEventListener("pointermove", (event) => {
      const at = place(event);
      point(group, at);
      if (begun === null) return;
      if (!picked) area.append(picked = Object.assign(document.createElement("i"), { className: "picked" }));
      const [from, to] = plot.view, part = (value) => (value - from) / (to - from) * 100;
      picked.style.left = part(Math.min(at, begun)) + "%";
      picked.style.width = Math.abs(part(at) - part(begun)) + "%";
    });
    area.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      begun = place(event);
      area.setPointerCapture(event.pointerId);
      point(group, begun);
    });
    area.addEventListener("pointerup", (event) => {
      const at = place(event), from = begun;
      drop();
      const [first, last] = plot.view;
      if (from !== null && Math.abs(at - from) > (last - first) * 0.02) zoom(group, [Math.min(at, from), Math.max(at, from)]);
    });
    area.addEventListener("pointercancel", drop);
    area.addEventListener("pointerleave", () => { if (begun === null) point(group, null); });
    area.addEventListener("dblclick", () => zoom(group, null));
    area.addEventListener("blur", () => point(group, null));
    area.addEventListener("keydown", (event) => {
      const list = plot.data.at, move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") zoom(group, null);
      if (!move || !list.length) return;
      event.preventDefault();
      const now = plot.at == null ? (move > 0 ? -1 : list.length) : nearest(list, plot.at);
      point(group, list[Math.min(list.length - 1, Math.max(0, now + move))]);
    });
    for (const key of plot.keys) {
      key.addEventListener("click", () => {
        const hidden = key.getAttribute("aria-pressed") === "true";
        key.setAttribute("aria-pressed", String(!hidden));
        area.querySelector(`path[data-line="${key.dataset.line}"]`).classList.toggle("off", hidden);
      });
    }
  }
  const all = () => ["time", "nines"].forEach((group) => zoom(group, null));
  document.getElementById("unzoom").addEventListener("click", all);

  const theme = document.getElementById("theme"), themes = ["system", "light", "dark"];
  const stored = () => { try { return localStorage.getItem("stadium-theme"); } catch { return null; } };
  const wear = (name) => {
    if (name === "system") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = name;
    theme.textContent = { system: "◐", light: "☀", dark: "☾" }[name];
    theme.ariaLabel = `Theme: ${name === "system" ? "as the system" : name}`;
    theme.value = name;
  };
  theme.hidden = false;
  wear(themes.includes(stored()) ? stored() : "system");
  theme.addEventListener("click", () => {
    const next = themes[(themes.indexOf(theme.value) + 1) % themes.length];
    wear(next);
    try { localStorage.setItem("stadium-theme", next); } catch { /* a file may have no storage */ }
  });
  addEventListener("beforeprint", () => { all(); document.querySelectorAll("details").forEach((part) => { part.open = true; }); });
})();
