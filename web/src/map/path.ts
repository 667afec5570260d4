// Path: the way of an object in the last seconds before an event.

import { fetchTrack } from "../api";
import type { Marked } from "../app";
import type { Trails } from "../model/trails";
import { objectKey } from "../model/objects";

interface Place {
  lon: number;
  lat: number;
}

const beforeMs = 45_000;

/**
 * The places of the object up to the event, which is the last one: from the server's history if it has them, else from
 * the trail that this page has seen, else from the position before, if the event tells it.
 */
export async function pathTo({ lon, lat, t, object, before }: Marked, trails: Trails, history: boolean): Promise<Place[]> {
  if (!object) return [];
  const end = { lon, lat };
  const from = t - beforeMs;
  const past = history ? await fetchTrack(object.fleet, object.id, from, t + 1).catch(() => []) : [];
  const seen = past.length > 1 ? past : trails.get(objectKey(object.fleet, object.id), t);
  const led: Place[] = seen.filter((place) => place.t >= from && place.t <= t);
  if (led.length === 0 && before) led.push({ lon: before[0], lat: before[1] });
  return led.length === 0 ? [] : [...led, end];
}
