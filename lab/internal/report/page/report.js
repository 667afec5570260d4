"use strict";
// Draws the plots of the report from the data beside it, again when the page's width changes.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const colors = ["var(--a)", "var(--b)", "var(--c)", "var(--d)", "var(--bad)"];
  // Of more lines than colors, the next ones are dashed, and those behind them dotted.
  const dashes = ["", "8 4", "2 3"];
  const line = (i) => ({ fill: "none", stroke: colors[i % colors.length], "stroke-width": 2, "stroke-dasharray": dashes[Math.floor(i / colors.length) % dashes.length] });
  const left = 58, right = 12, top = 8, bottom = 26;

  const time = (ns) => {
    for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) if (ns >= size) return +(ns / size).toPrecision(3) + unit;
    return Math.round(ns) + "ns";
  };
  const count = (n) => (n >= 1e6 ? +(n / 1e6).toPrecision(3) + "M" : n >= 1e4 ? +(n / 1e3).toPrecision(3) + "k" : String(+n.toPrecision(3)));

  const el = (parent, name, attributes, text) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    if (text !== undefined) e.textContent = text;
    parent.append(e);
    return e;
  };

  // A figure with a title that is read aloud, and the scales of its plot.
  const plot = (id, height, title) => {
    const figure = document.getElementById(id);
    if (!figure) return null;
    figure.replaceChildren();
    const width = Math.max(figure.clientWidth, 240);
    const svg = el(figure, "svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": title });
    el(svg, "title", {}, title);
    return { figure, svg, x0: left, x1: width - right, y0: height - bottom, y1: top, width };
  };
  const scale = (from, to, a, b) => (v) => a + ((v - from) / (to - from || 1)) * (b - a);
  const ticks = (max, n) => {
    const raw = max / n, size = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((s) => s * size >= raw) * size;
    const list = [];
    for (let v = 0; v <= max * 1.0001; v += step) list.push(v);
    return list;
  };
  const yTick = (p, y, text) => {
    el(p.svg, "line", { x1: p.x0, x2: p.x1, y1: y, y2: y, class: "grid" });
    el(p.svg, "text", { x: p.x0 - 6, y: y + 4, "text-anchor": "end" }, text);
  };
  const xTick = (p, x, text) => el(p.svg, "text", { x, y: p.y0 + 18, "text-anchor": "middle" }, text);
  const legend = (figure, names, shown, dashed) => {
    const ul = document.createElement("ul");
    ul.className = "legend";
    names.forEach((name, i) => {
      if (shown && !shown[i]) return;
      const li = document.createElement("li"), mark = document.createElement("i");
      const dash = i === dashed ? "5 4" : dashes[Math.floor(i / colors.length) % dashes.length], color = colors[i % colors.length];
      const [on, off] = dash.split(" ").map(Number);
      mark.style.background = dash ? `repeating-linear-gradient(90deg, ${color} 0 ${on}px, transparent ${on}px ${on + off}px)` : color;
      li.append(mark, name);
      ul.append(li);
    });
    figure.append(ul);
  };
  const path = (points) => points.map(([x, y], i) => (i ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1)).join("");

  // The axis of times, by powers of ten.
  const times = (p, all) => {
    const low = Math.floor(Math.log10(Math.min(...all))), high = Math.max(Math.ceil(Math.log10(Math.max(...all))), low + 1);
    const y = (ns) => scale(low, high, p.y0, p.y1)(Math.log10(Math.max(ns, 10 ** low)));
    for (let d = low; d <= high; d++) yTick(p, y(10 ** d), time(10 ** d));
    return y;
  };

  function percentiles() {
    const p = plot("percentiles", 320, "Times by percentile, " + data.curves.map((c) => c.name + " up to " + time(c.points.at(-1)[1])).join(", "));
    if (!p || !data.curves.length) return;
    const all = data.curves.flatMap((c) => c.points).filter((q) => q[1] > 0);
    const most = Math.max(1, ...all.map((q) => q[0]));
    if (!all.length) return;
    const x = scale(0, most, p.x0, p.x1), y = times(p, all.map((q) => q[1]));
    [["0", 0], ["50", Math.log10(2)], ["90", 1], ["99", 2], ["99.9", 3], ["99.99", 4], ["99.999", 5], ["99.9999", 6]].forEach(([name, at]) => {
      if (at > most * 1.001 || (name === "50" && p.width < 420 && most > 3)) return;
      el(p.svg, "line", { x1: x(at), x2: x(at), y1: p.y0, y2: p.y1, class: "grid" });
      xTick(p, x(at), name + (p.width > 560 ? " %" : ""));
    });
    if (data.band.length > 1) {
      const edge = (i) => data.band.map((b) => [x(Math.min(b[0], most)), y(b[i])]);
      el(p.svg, "path", { d: path(edge(1)) + path(edge(2).reverse()).replace("M", "L") + "Z", fill: colors[0], opacity: 0.18 });
    }
    data.curves.forEach((c, i) => el(p.svg, "path", { d: path(c.points.map((q) => [x(q[0]), y(q[1])])), ...line(i) }));
    legend(p.figure, data.curves.map((c) => c.name));
  }

  // The axis of time, which all the plots below share.
  const end = data.points.length ? data.points.at(-1).t + data.points.at(-1).len : 1;
  const axis = (p, end) => {
    const x = scale(0, end, p.x0, p.x1);
    for (const t of ticks(end, Math.max(2, p.width / 140))) xTick(p, x(t), +t.toPrecision(4) + " s");
    el(p.svg, "line", { x1: p.x0, x2: p.x1, y1: p.y0, y2: p.y0, class: "axis" });
    return x;
  };

  function heat() {
    const p = plot("heat", 300, "Response times over time, as a heat map");
    if (!p || !data.points.length) return;
    let low = Infinity, high = 0, most = 0;
    const cells = data.points.map((pt) => {
      const bins = new Map();
      for (let i = 0; i < pt.rows.length; i += 2) {
        const row = Math.floor(pt.rows[i] / 4);
        bins.set(row, (bins.get(row) || 0) + pt.rows[i + 1] / pt.len);
        low = Math.min(low, row);
        high = Math.max(high, row + 1);
      }
      for (const n of bins.values()) most = Math.max(most, n);
      return bins;
    });
    if (!most) return;
    const x = axis(p, end), y = scale(low, high, p.y0, p.y1), ns = (row) => 1000 * 2 ** (row / 4);
    for (let d = 3; d < 13; d++) {
      const row = Math.log2(10 ** d / 1000) * 4;
      if (row >= low && row <= high) yTick(p, y(row), time(10 ** d));
    }
    if (high - low < 12) { yTick(p, y(high), time(ns(high))); yTick(p, y(low), time(ns(low))); }
    data.points.forEach((pt, i) => {
      const a = x(pt.t), w = Math.max(x(pt.t + pt.len) - a - 0.3, 0.6);
      for (const [row, n] of cells[i]) {
        const strength = 0.08 + 0.92 * Math.sqrt(n / most);
        el(p.svg, "rect", { x: a.toFixed(1), width: w.toFixed(1), y: y(row + 1).toFixed(1), height: (y(row) - y(row + 1)).toFixed(1), fill: colors[0], "fill-opacity": strength.toFixed(2) });
      }
    });
  }

  // A strip with one or more series, one over another if they are parts of a whole.
  function strip(id, title, names, of, stacked, write, target) {
    const p = plot(id, 150, title);
    if (!p || !data.points.length) return;
    const sums = data.points.map((pt) => names.reduce((s, _, i) => (stacked ? s + of(pt)[i] : Math.max(s, of(pt)[i])), 0));
    const most = Math.max(...sums, target ? Math.max(...data.points.map(target)) : 0) || 1;
    const x = axis(p, end), y = scale(0, most * 1.05, p.y0, p.y1);
    for (const v of ticks(most * 1.05, 3)) yTick(p, y(v), write(v));
    const base = data.points.map(() => 0);
    const some = names.map((_, i) => !stacked || data.points.some((pt) => of(pt)[i] > 0));
    names.forEach((_, i) => {
      if (!some[i]) return;
      const upper = [], lower = [];
      data.points.forEach((pt, k) => {
        const from = stacked ? base[k] : 0, to = from + of(pt)[i];
        base[k] = to;
        upper.push([x(pt.t), y(to)], [x(pt.t + pt.len), y(to)]);
        lower.push([x(pt.t), y(from)], [x(pt.t + pt.len), y(from)]);
      });
      const color = id === "failed" ? "var(--bad)" : colors[i];
      el(p.svg, "path", { d: path(upper) + path(lower.reverse()).replace("M", "L") + "Z", fill: color, opacity: stacked ? 0.7 : 0.15 });
      el(p.svg, "path", { d: path(upper), fill: "none", stroke: color, "stroke-width": 1.5 });
    });
    if (target) el(p.svg, "path", { d: path(data.points.flatMap((pt) => [[x(pt.t), y(target(pt))], [x(pt.t + pt.len), y(target(pt))]])), fill: "none", stroke: colors[1], "stroke-width": 1.5, "stroke-dasharray": "5 4" });
    if (names.length > 1) legend(p.figure, names, some);
    if (target) legend(p.figure, ["good answers", "asked for by --rate"], null, 1);
  }

  // The p50 and the p99 of several runs, over their loads.
  function levels() {
    const p = data.levels && plot("levels", 320, "The p50 and the p99 over " + data.levels.unit);
    if (!p) return;
    const all = data.levels.series.flatMap((s) => s.points), ends = [Math.min(...all.map((q) => q[0])), Math.max(...all.map((q) => q[0]))];
    const x = (v) => scale(Math.log10(ends[0]), Math.log10(ends[1]), p.x0 + 8, p.x1 - 8)(Math.log10(v));
    const y = times(p, all.flatMap((q) => [q[1], q[2]]).filter((ns) => ns > 0));
    let last = -Infinity;
    for (const v of [...new Set(all.map((q) => q[0]))].sort((a, b) => a - b)) {
      if (x(v) - last < 40) continue;
      last = x(v);
      xTick(p, last, count(v));
    }
    data.levels.series.forEach((s, i) => {
      for (const [k, dash] of [[1, ""], [2, "5 4"]]) {
        const points = s.points.filter((q) => q[k] > 0).map((q) => [x(q[0]), y(q[k])]);
        el(p.svg, "path", { d: path(points), ...line(i), "stroke-dasharray": dash });
        for (const [cx, cy] of points) el(p.svg, "circle", { cx, cy, r: 3, fill: colors[i % colors.length] });
      }
    });
    legend(p.figure, data.levels.series.map((s) => s.name));
  }

  // The rates of several runs, each from its start.
  function rates() {
    const p = data.runs && plot("rates", 260, "Good answers per second over time, by run");
    if (!p) return;
    const of = (pt) => pt[2] / pt[1], all = data.runs.flatMap((r) => r.points);
    const most = Math.max(...all.map(of)) * 1.05 || 1;
    const x = axis(p, Math.max(...all.map((pt) => pt[0] + pt[1]))), y = scale(0, most, p.y0, p.y1);
    for (const v of ticks(most, 4)) yTick(p, y(v), count(v));
    data.runs.forEach((r, i) => el(p.svg, "path", { d: path(r.points.flatMap((pt) => [[x(pt[0]), y(of(pt))], [x(pt[0] + pt[1]), y(of(pt))]])), ...line(i), "stroke-width": 1.5 }));
    legend(p.figure, data.runs.map((r) => r.name));
  }

  function draw() {
    percentiles();
    levels();
    rates();
    heat();
    strip("rate", "Good answers per second over time", ["answers"], (pt) => [pt.ok / pt.len], false, count, data.open ? (pt) => pt.target / pt.len : null);
    strip("flight", "Requests under way over time: mean and most", ["mean", "most"], (pt) => [pt.inFlight, pt.most], false, count);
    strip("failed", "Failures per second over time", ["failed"], (pt) => [pt.failed / pt.len], false, count);
    strip("machine", "Processors of the service's machine at work over time", ["the service", "all others", "taken by other virtual machines"], (pt) => (pt.machine ? [pt.machine.service, pt.machine.others, pt.machine.steal] : [0, 0, 0]), true, count);
    strip("memory", "Resident memory of the service over time", ["resident"], (pt) => [pt.machine ? pt.machine.resident / 1e6 : 0], false, (n) => count(n) + " MB");
    strip("lag", "Lag by cause over time", data.causes, (pt) => pt.late.map((ns) => ns / pt.len), true, time);
  }
  let width = 0;
  const fit = () => {
    if (width === document.body.clientWidth) return;
    width = document.body.clientWidth;
    draw();
  };
  addEventListener("resize", fit);
  fit();
})();
