// Past events: those from before the page was opened, so that the feed is not empty. A filter of which the page has seen
// few events asks for those that pass it.

import { fetchEvents, type EventQuery } from "../api";
import type { App } from "../app";
import type { Filter } from "../view";

const pastEvents = 60;
/** Waits this long after a change of the filter before it asks the server. */
const askAfterMs = 300;

export function bindPast(app: App): void {
  let timer: number | undefined;
  let request: AbortController | undefined;
  const ask = (): void => {
    timer = undefined;
    request?.abort();
    request = new AbortController();
    void load(app, queryOf(app.view.value.filter), request.signal);
  };
  ask();
  app.view.watch((now, before) => {
    if (now.filter === before.filter || app.live.feed.rows.length >= pastEvents) return;
    if (sameQuery(queryOf(now.filter), queryOf(before.filter))) return;
    clearTimeout(timer);
    timer = window.setTimeout(ask, askAfterMs);
  });
}

/** What of the filter the server can select events by. */
function queryOf({ set, fleet, events }: Filter): EventQuery {
  return { set, fleet, event: events.length === 1 ? events[0]! : "", last: pastEvents };
}

function sameQuery(a: EventQuery, b: EventQuery): boolean {
  return a.set === b.set && a.fleet === b.fleet && a.event === b.event;
}

async function load(app: App, query: EventQuery, signal: AbortSignal): Promise<void> {
  try {
    const events = await fetchEvents(query, signal);
    app.fleets.learnEvents(events);
    app.live.feed.addPast(events);
    app.feedTick.update((n) => n + 1);
  } catch {
    // The feed then begins with the next event.
  }
}
