// Keeps the view in the address bar: a new selection is a step in the history, anything else replaces the present one.

import type { Signal } from "./signal";
import { formatView, parseView, sameSelection, type View } from "./view";

/** A browser refuses more than about 100 changes of the address in 30 s; a moving map would make more. */
const replaceEveryMs = 400;

export function bindLocation(view: Signal<View>): void {
  let timer: number | undefined;
  let fromHistory = false;

  const replace = (): void => {
    timer = undefined;
    history.replaceState(null, "", location.pathname + formatView(view.value));
  };

  view.watch((now, before) => {
    if (fromHistory) return;
    if (!sameSelection(now.selection, before.selection)) {
      clearTimeout(timer);
      timer = undefined;
      history.pushState(null, "", location.pathname + formatView(now));
      return;
    }
    timer ??= window.setTimeout(replace, replaceEveryMs);
  });

  window.addEventListener("popstate", () => {
    fromHistory = true;
    view.set(parseView(location.search));
    fromHistory = false;
  });
}
