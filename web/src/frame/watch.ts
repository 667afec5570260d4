// A page's poll, with the parts that tell of it: the pill in the bar, and the banner.

import { fill, h, type Child } from "../dom";
import { Poll } from "../live/poll";
import { createBanner } from "./banner";
import type { Frame } from "./frame";

/** Pages of settings are asked for this often. */
export const calmMs = 5_000;

/**
 * Shows what the server answers now, and again after a while. None is the text of the banner when the server has no
 * such thing.
 */
export function watch<T>(frame: Frame, ask: (signal: AbortSignal) => Promise<T>, show: (answer: T) => void, none: () => Child[], everyMs = calmMs): Poll<T> {
  const poll = new Poll<T>(show, ask, everyMs);
  const pill = h("span", { class: "pill" });
  poll.link.bind((link) => {
    pill.dataset.state = link.state;
    const word = { connecting: "Connecting", live: "Live", lost: "Offline", ended: "Session ended", none: "None here", denied: "Not for this key" }[link.state];
    fill(pill, h("i", { "aria-hidden": "true" }), word);
  });
  frame.end.append(pill);
  frame.banner.append(createBanner(poll, frame.page, none));
  poll.now();
  return poll;
}
