// Rights: whether the key of this browser may change fences.

import type { Grant } from "../api";

/** Reports whether a key may change the fences of a set; without a set, those of any. Null: nothing is known of the key. */
export function mayWrite(grant: Grant | null, set?: string): boolean {
  if (!grant) return false;
  const { verbs, sets } = grant;
  if (!verbs.includes("admin") && !verbs.includes("sets:write")) return false;
  return sets === undefined || (set === undefined ? sets.length > 0 : sets.includes(set));
}
