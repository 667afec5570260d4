// Occupants: the objects that were in a fence at the time of the playback.

import type { App } from "../app";
import { failure, listOf } from "../ui/parts";
import { fill, h, setText } from "../dom";
import { formatCount, formatDuration } from "../format";
import { objectKey } from "../model/objects";
import { linkTo } from "../ui/words";
import { fetchOccupants, type PastVisit } from "./api";

/** Shows them in place of those of the present. */
export async function showPastOccupants(app: App, heading: HTMLElement, content: HTMLElement, set: string, fence: string, signal: AbortSignal): Promise<void> {
  const { t } = app.past.clock;
  try {
    const { visits, next } = await fetchOccupants(set, fence, t, signal);
    setText(heading, `Inside at this time · ${formatCount(visits.length)}${next === undefined ? "" : "+"}`);
    const sorted = visits.toSorted((a, b) => Date.parse(b.begin) - Date.parse(a.begin));
    const row = ({ fleet, object, begin }: PastVisit): HTMLElement =>
      h("li", {}, linkTo(app, { kind: "object", fleet, id: object }, object), h("span", { class: "hit-detail" }, `for ${formatDuration(t - Date.parse(begin))}`));
    listOf(content, "members", sorted, ({ fleet, object, begin }) => `${objectKey(fleet, object)} ${begin} ${t}`, row, "No objects.");
  } catch (error) {
    if (!signal.aborted) fill(content, failure(error));
  }
}
