// Zone: whether times are shown in UTC or in the viewer's zone; kept for the next visit.

import { Signal } from "../signal";

const key = "paddock.utc";

/** Not there outside a browser. */
const storage = (globalThis as { localStorage?: Storage }).localStorage;

export const utc = new Signal(storage?.getItem(key) === "1");

utc.watch((on) => {
  if (on) storage?.setItem(key, "1");
  else storage?.removeItem(key);
});
