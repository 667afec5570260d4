// The bounds of the server: the use of each, beside its limit.

import type { TunnelFigures } from "../api";
import { h, setText } from "../dom";
import { formatBytes, formatCount } from "../format";

interface Bound {
  label: string;
  title: string;
  held: (f: TunnelFigures) => number;
  limit: (f: TunnelFigures) => number;
  format: (n: number) => string;
}

const bounds: Bound[] = [
  { label: "Memory", title: "Accounted to what is under way, against its part of the budget", held: (f) => f.bytes, limit: (f) => f.bytes_limit, format: formatBytes },
  { label: "Requests", title: "Under way", held: (f) => f.requests, limit: (f) => f.requests_limit, format: formatCount },
  { label: "Streams", title: "Upgraded, raw and long exchanges", held: (f) => f.streams, limit: (f) => f.streams_limit, format: formatCount },
  { label: "Visitors", title: "Connections to the fronts", held: (f) => f.visitors, limit: (f) => f.visitors_limit, format: formatCount },
  { label: "Clients", title: "That are connected", held: (f) => f.sessions, limit: (f) => f.sessions_limit, format: formatCount },
];

/** From this part on a bound is shown as nearly reached. */
const nearly = 0.8;

export function createBounds(): { element: HTMLElement; show: (figures: TunnelFigures) => void } {
  const rows = bounds.map((bound) => {
    const value = h("span", { class: "bound-value" }, "–");
    const bar = h("span", { class: "bound-bar" });
    const meter = h("span", { class: "bound-meter", role: "meter", "aria-label": bound.label, "aria-valuemin": 0, "aria-valuemax": 1, "aria-valuenow": 0 }, bar);
    return { bound, value, bar, meter, item: h("li", { class: "bound", title: bound.title }, h("span", {}, bound.label), value, meter) };
  });
  const show = (figures: TunnelFigures): void => {
    for (const { bound, value, bar, meter, item } of rows) {
      const held = bound.held(figures);
      const limit = bound.limit(figures);
      const part = share(held, limit);
      setText(value, `${bound.format(held)} of ${bound.format(limit)}`);
      bar.style.width = `${part * 100}%`;
      meter.ariaValueMax = String(limit);
      meter.ariaValueNow = String(Math.min(held, limit));
      meter.ariaValueText = value.textContent;
      item.dataset.state = part >= nearly ? "near" : "";
    }
  };
  return { element: h("ul", { class: "bounds" }, ...rows.map(({ item }) => item)), show };
}

/** The part of a limit that is taken, 0 to 1. */
export function share(held: number, limit: number): number {
  return limit > 0 ? Math.min(1, Math.max(0, held / limit)) : 0;
}
