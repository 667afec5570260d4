// LargeSet: a set that is too large to load. The map draws it from tiles; of its fences the page knows those that it has met.

import { tilesURL, type SetInfo } from "../api";
import { setColours, type FenceInfo, type FenceSet } from "./sets";

/** Fences that were met longer ago are forgotten, and fetched again when they are needed. */
const keptFences = 1_000;

export class LargeSet implements FenceSet {
  readonly info: SetInfo;
  readonly colour: number;
  readonly fences: readonly FenceInfo[] = [];
  readonly byKey = new Map<string, FenceInfo>();
  readonly drawn: string;
  /** Keys that are being fetched. */
  readonly asked = new Set<string>();
  /** Requested keys that the set does not have. */
  readonly missing = new Set<string>();

  /** version differs whenever the fences may. */
  constructor(info: SetInfo, colour: number, version: string) {
    this.info = info;
    this.colour = colour % setColours;
    this.drawn = tilesURL(info.name, version);
  }

  meet(fence: FenceInfo): void {
    this.byKey.delete(fence.key);
    this.byKey.set(fence.key, fence);
    for (const key of this.byKey.keys()) {
      if (this.byKey.size <= keptFences) break;
      this.byKey.delete(key);
    }
  }
}
