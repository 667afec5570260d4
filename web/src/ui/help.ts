// The keys, in a dialog.

import { h, icon } from "../dom";

const keys: [keys: string[], what: string][] = [
  [["/"], "Search for an object or a fence"],
  [["p"], "Pause the feed, or let it go on"],
  [["e"], "Go to the feed"],
  [["m"], "Go to the map"],
  [["f"], "Show all sets"],
  [["d"], "Draw a fence"],
  [["c"], "Copy latitude and longitude under the pointer"],
  [["u"], "Show times in UTC, or in your zone"],
  [["+", "−"], "Zoom, on the map"],
  [["←", "↑", "→", "↓"], "Move, on the map"],
  [["h"], "Play back the last hour"],
  [["space"], "Playback: play, or stop"],
  [["←", "→"], "Playback: 10 seconds back or on; with Shift a minute"],
  [["Home", "End"], "Playback: to the beginning, or the end"],
  [[",", "."], "Playback: to the event before, or the next"],
  [["[", "]"], "Playback: slower, or faster"],
  [["l"], "Playback: back to live"],
  [["Esc"], "Close the details, or clear the search"],
  [["?"], "This list"],
];

let dialog: HTMLDialogElement | undefined;

export function showHelp(): void {
  dialog ??= create();
  if (!dialog.open) dialog.showModal();
}

function create(): HTMLDialogElement {
  const close = h("button", { class: "icon-button", type: "button", "aria-label": "Close", onclick: () => element.close() }, icon("close"));
  const element = h(
    "dialog",
    { class: "help card", "aria-labelledby": "help-title" },
    h("div", { class: "card-head" }, h("h2", { id: "help-title" }, "Keys"), close),
    h(
      "dl",
      { class: "keys" },
      ...keys.map(([names, what]) =>
        h("div", {}, h("dt", {}, ...names.map((name) => h("kbd", {}, name))), h("dd", {}, what)),
      ),
    ),
  );
  element.addEventListener("click", (event) => {
    if (event.target === element) element.close(); // the backdrop
  });
  document.body.append(element);
  return element;
}
