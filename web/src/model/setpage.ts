// What the page of the sets tells, as text. Pure.

import type { Bounds, Finding, Policy } from "../api";
import { parseDuration } from "./policy";
import { emptyView, formatView } from "../view";

/** The map's address that shows a box. */
export function mapAddress(bbox: Bounds): string {
  const [west, south, east, north] = bbox;
  const width = east < west ? east + 360 - west : east - west;
  const lon = ((west + width / 2 + 540) % 360) - 180;
  // A map of zoom 0 shows the world in 512 pixels; a window of about 900 shows a box in two thirds of them.
  const zoom = Math.log2((600 / 512) * (360 / Math.max(width, 2 * (north - south), 0.002)));
  return `./${formatView({ ...emptyView, at: { lon, lat: (south + north) / 2, zoom: Math.min(18, Math.max(0, zoom)) } })}`;
}

/** The place of a finding: "fence depot-3", "feature 7", "the document". */
export function findingPlace({ feature, fence }: Pick<Finding, "feature" | "fence">): string {
  if (fence !== undefined) return `fence ${fence}`;
  return feature < 0 ? "the document" : `feature ${feature}`;
}

/** A kind of index, and the one that works for it. */
export function indexText(kind: string, works: string): string {
  return kind === works ? kind : `${kind}: ${works}`;
}

export type PolicyChoice = { preset: "raw" | "steady" | "accuracy" } | { preset: "dwell"; time: string } | { preset: "json"; text: string };

/** The policy that a choice stands for, as the server takes it; an Error that tells what is wrong. */
export function policyOf(choice: PolicyChoice): string | Policy {
  switch (choice.preset) {
    case "dwell":
      if (parseDuration(choice.time) === 0) throw new Error("The time needs a unit: such as 90s, 5m or 1h30m.");
      return `dwell:${choice.time.trim()}`;
    case "json":
      return parseJSON(choice.text) as Policy;
    default:
      return choice.preset;
  }
}

/** Reads JSON; an Error that a person understands. */
export function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
