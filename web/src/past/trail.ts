// The long trail: of the selected object, from the server's history, where there is one; in the present, the way of its
// last quarter of an hour instead of its last minute.

import { fetchTrack } from "../api";
import type { App } from "../app";
import { objectKey } from "../model/objects";

const longMs = 15 * 60_000;
/** Positions: two a second. */
const mostPositions = 1_800;

export function bindLongTrail(app: App): void {
  let request: AbortController | undefined;
  const load = async (fleet: string, id: string, signal: AbortSignal): Promise<void> => {
    const now = Date.now();
    const points = await fetchTrack(fleet, id, now - longMs, now, signal, mostPositions).catch(() => []);
    if (!signal.aborted) app.live.trails.lengthen(objectKey(fleet, id), points, longMs);
  };
  const select = (): void => {
    request?.abort();
    const { selection } = app.view.value;
    if (selection?.kind !== "object" || app.scene.value !== app.live) return;
    if (!app.hello.value?.history) return; // the trail is the minute that this page has seen
    request = new AbortController();
    void load(selection.fleet, selection.id, request.signal);
  };
  app.view.watch((now, before) => {
    if (now.selection !== before.selection) select();
  });
  app.scene.watch(select);
  app.hello.watch((now, before) => {
    if (now?.history !== before?.history) select();
  });
  select();
}
