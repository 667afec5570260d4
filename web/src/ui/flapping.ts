// The objects that flap, in a dialog: which fences they enter and leave again and again, and what would stop that.

import type { App } from "../app";
import { fill, h, icon } from "../dom";
import { fetchItems, type HealthItem } from "../live/health";
import { failure } from "./parts";

export function showFlapping(app: App): void {
  const list = h("div", { class: "scroll flapping", tabindex: 0, role: "group", "aria-label": "Objects that flap" }, h("p", { class: "note" }, "Looking…"));
  const close = h("button", { class: "icon-button", type: "button", "aria-label": "Close", onclick: () => dialog.close() }, icon("close"));
  const dialog = h(
    "dialog",
    { class: "help card", "aria-labelledby": "flapping-title" },
    h("div", { class: "card-head" }, h("h2", { id: "flapping-title" }, "Objects that flap"), close),
    list,
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // the backdrop
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  fetchItems("flapping").then(
    (items) => fill(list, ...(items.length > 0 ? items.map((found) => row(app, found, dialog)) : [h("p", { class: "note" }, "None at present.")])),
    (error: unknown) => fill(list, failure(error)),
  );
}

function row(app: App, { text, advice, fleet, object }: HealthItem, dialog: HTMLDialogElement): HTMLElement {
  const show = (): void => {
    dialog.close();
    if (fleet !== undefined && object !== undefined) app.select({ kind: "object", fleet, id: object });
  };
  const link = object === undefined ? text : h("button", { type: "button", class: "link", title: "Show the object", onclick: show }, text);
  return h("div", { class: "flaps" }, link, h("p", {}, advice));
}
