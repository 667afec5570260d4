// Sight: which figures of the server are measurements for the key of this browser. Others the server sends as zero. Pure.

import type { Grant } from "../api";

export interface Sight {
  /** All of them. */
  everything: boolean;
  /** Numbers of objects; without everything, of those in the view. */
  objects: boolean;
}

/** What a key sees. Null: nothing is known of the key. */
export function sightOf(grant: Grant | null): Sight {
  const may = (verb: string): boolean => grant === null || grant.verbs.includes(verb) || grant.verbs.includes("admin");
  const whole = grant?.fleets === undefined && grant?.sets === undefined;
  return { everything: whole && may("events:read") && may("objects:read"), objects: may("objects:read") };
}
