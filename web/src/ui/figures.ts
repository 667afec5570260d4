// The figures of the process: its present rates and counts.

import type { Stats } from "../api";
import type { App } from "../app";
import { formatBytes, formatCount, formatLatency } from "../format";
import { sightOf } from "../model/sight";
import { createFigureList, type FigureSpec } from "./figure";

/** Of the whole process, for keys that see all of it. */
const specs: FigureSpec<Stats>[] = [
  { label: "positions/s", title: "Positions accepted a second", value: (s) => s.positions_per_s, format: formatCount },
  { label: "events/s", title: "Events caused a second", value: (s) => s.events_per_s, format: formatCount },
  {
    label: "event p99",
    title: "99 of 100 events were out within this time after their position came in",
    value: (s) => s.event_p99_ms ?? NaN,
    format: formatLatency,
  },
  { label: "memory", title: "Memory of the process", value: (s) => s.memory_bytes, format: formatBytes },
  { label: "refused/s", title: "Positions refused a second", value: (s) => s.rejected_per_s, format: formatCount, fault: true },
  { label: "dropped/s", title: "Events a second that slow readers lost", value: (s) => s.dropped_per_s, format: formatCount, fault: true },
];

const fences: FigureSpec<Stats> = { label: "fences", title: "Fences in all sets that the key of this browser is for", value: (s) => s.fences, format: formatCount };

export function createFigures(app: App): HTMLElement {
  const isShown = (): boolean => sightOf(app.grant.value).everything;
  const [positions, events, ...others] = specs.map((spec) => ({ ...spec, isShown }));
  const figures = createFigureList([positions!, events!, fences, ...others]);
  app.stats.watch((stats) => {
    if (stats) figures.add(stats);
  });
  return figures.element;
}
