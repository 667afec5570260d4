// A read-only look at the page for tests and for curious people: `paddock.state()` in the browser's console.

import type { App, DrawnObject, MapStatistics } from "./app";
import type { SetInfo, Stats } from "./api";
import type { View } from "./view";

export interface PageState {
  connection: string;
  view: View;
  stats: Stats | null;
  sets: readonly SetInfo[];
  /** Sets whose fences are loaded. */
  loadedSets: string[];
  objects: DrawnObject[];
  feedRows: number;
  recentEvents: number;
  grouping: boolean;
  paused: boolean;
  following: boolean;
  missed: number;
  /** Where the playback is and of when the picture on the map is, Unix ms, and what it shows; null in the present. */
  past: { t: number; drawn: number; playing: boolean; loading: boolean; objects: number; feed: string[] } | null;
  /** Null until the map's code has loaded. */
  map: MapStatistics | null;
}

declare global {
  interface Window {
    paddock: {
      state: () => PageState;
      /** Where a place is on the map, in CSS pixels. */
      project: (lon: number, lat: number) => { x: number; y: number } | null;
    };
  }
}

export function exposeState(app: App): void {
  const state = (): PageState => ({
    connection: app.connection.link.value.state,
    view: app.view.value,
    stats: app.stats.value,
    sets: app.catalog.infos.value,
    loadedSets: [...app.catalog.sets.value.keys()],
    objects: app.map.value?.drawn() ?? [],
    feedRows: app.feed.rows.length,
    recentEvents: app.feed.recent.length,
    grouping: app.feed.grouping,
    paused: app.paused.value,
    following: app.following.value,
    missed: app.missed.value,
    past: app.past.active ? pastOf(app) : null,
    map: app.map.value?.statistics() ?? null,
  });
  const project = (lon: number, lat: number): { x: number; y: number } | null => app.map.value?.project(lon, lat) ?? null;
  Object.defineProperty(window, "paddock", { value: Object.freeze({ state, project }), writable: false });
}

function pastOf({ past, feed, frame }: App): NonNullable<PageState["past"]> {
  const { loading, objects } = past.status.value;
  const events = feed.rows.flatMap(({ body }) => (body.type === "event" ? [body.event] : body.type === "group" ? body.events : []));
  return { t: past.clock.t, drawn: frame.value?.t ?? 0, playing: past.clock.playing, loading, objects, feed: events.map(({ data: { at } }) => at) };
}
