// Selected: loads the track and the visits of the selected object within the span of the playback.

import type { App } from "../app";
import { Signal } from "../signal";
import { fetchSample, fetchVisits, type SampledPage } from "./api";
import { analyse, everyOf, joinPages } from "./day";

/** Pages of a track beyond which it is cut; each has 50,000 positions or has read 2 million. */
const mostPages = 8;

/** What became of the last load: "" if all is well. */
export const trackError = new Signal("");
/** There are more visits than the first thousand. */
export const moreVisits = new Signal(false);

export function bindSelected(app: App): void {
  const { past, view, scene } = app;
  let request: AbortController | undefined;
  let loaded = "";
  const update = (): void => {
    const { selection } = view.value;
    const wanted = past.active && selection?.kind === "object" ? selection : null;
    const { from, to } = past.clock;
    const key = wanted ? `${wanted.fleet}\n${wanted.id}\n${from}\n${to}` : "";
    if (key === loaded) return;
    loaded = key;
    request?.abort();
    trackError.set("");
    past.track.set(null);
    past.visits.set([]);
    if (!wanted) return;
    request = new AbortController();
    void load(app, wanted.fleet, wanted.id, from, to, request.signal);
  };
  view.watch(update);
  scene.watch(update);
  update();
}

async function load({ past }: App, fleet: string, id: string, from: number, to: number, signal: AbortSignal): Promise<void> {
  const failed = (error: unknown): void => {
    if (!signal.aborted) trackError.set(error instanceof Error ? error.message : String(error));
  };
  const every = everyOf({ from, to });
  await Promise.all([
    fetchPages(fleet, id, from, to, every, signal).then((pages) => {
      if (!signal.aborted) past.track.set(analyse({ fleet, id }, { from, to }, every, joinPages(pages, fleet, id)));
    }, failed),
    fetchVisits(fleet, id, from, to, signal).then(({ visits, next }) => {
      if (signal.aborted) return;
      moreVisits.set(next !== undefined);
      past.visits.set(visits.toSorted((a, b) => Date.parse(a.begin) - Date.parse(b.begin)));
    }, failed),
  ]);
}

/** A span may be longer than the server's longest period. */
const periodMs = 24 * 3_600_000;

async function fetchPages(fleet: string, object: string, from: number, to: number, every: number, signal: AbortSignal): Promise<SampledPage[]> {
  const pages: SampledPage[] = [];
  for (let begin = from; begin < to; begin += periodMs) {
    let after: string | undefined;
    do {
      const page = await fetchSample({ from: begin, to: Math.min(to, begin + periodMs), every, back: 0, fleet, object, after: after ?? "" }, signal);
      pages.push(page);
      after = page.next;
    } while (after !== undefined && pages.length < mostPages);
  }
  return pages;
}
