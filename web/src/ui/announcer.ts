// The announcer: tells screen readers counts, now and then; never each event.

import type { App } from "../app";
import { plural } from "../format";

const everyMs = 30_000;

export function createAnnouncer(app: App, element: HTMLElement): void {
  let events = 0;
  let silent = 0;
  app.events.watch((list) => (events += list.length));
  window.setInterval(() => {
    if (app.connection.link.value.state !== "live") return;
    const silentNow = app.stats.value?.silent ?? 0;
    const parts: string[] = [];
    if (events > 0 && !app.paused.value) parts.push(`${plural(events, "event")} in the last ${everyMs / 1000} seconds.`);
    if (silentNow !== silent) parts.push(`${plural(silentNow, "object")} silent.`);
    if (parts.length > 0) element.textContent = parts.join(" ");
    events = 0;
    silent = silentNow;
  }, everyMs);
  app.said.watch((text) => (element.textContent = text));
  app.paused.watch((paused) => (element.textContent = paused ? "Feed paused." : "Feed goes on."));
}
