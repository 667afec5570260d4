// Link: requests to draw or edit, as the address of the page has them: edit=set/fence · draw=polygon.

import type { Kind } from "./shape";

export type Request =
  | { kind: "draw"; shape: Kind; set?: string }
  | { kind: "edit" | "copy" | "delete"; set: string; fence: string };

const kinds: readonly Kind[] = ["polygon", "circle", "corridor", "line"];

/** Reads a query; null if it requests neither. */
export function parseRequest(query: string): Request | null {
  const parameters = new URLSearchParams(query);
  const shape = kinds.find((kind) => kind === parameters.get("draw"));
  if (shape) return { kind: "draw", shape };
  const edit = /(?:^\?|&)edit=([^&/]+)\/([^&]+)/.exec(query);
  if (!edit) return null;
  try {
    return { kind: "edit", set: decodeURIComponent(edit[1]!), fence: decodeURIComponent(edit[2]!) };
  } catch {
    return null; // a stray percent sign
  }
}
