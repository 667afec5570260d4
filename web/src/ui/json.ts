// Colours for JSON text. Every piece becomes a text node.

import { h } from "../dom";

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;

export function highlight(json: string): HTMLElement {
  const out = h("code", { class: "json" });
  let done = 0;
  for (const match of json.matchAll(token)) {
    out.append(json.slice(done, match.index));
    const [all, text, colon, number] = match;
    if (text !== undefined && colon !== undefined) out.append(h("span", { class: "k" }, text), colon);
    else out.append(h("span", { class: text !== undefined ? "s" : number !== undefined ? "n" : "w" }, all));
    done = match.index + all.length;
  }
  out.append(json.slice(done));
  return out;
}
