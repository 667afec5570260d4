// Buttons that zoom the map, as the wheel and the keys do.

import type { App } from "../app";
import { h, icon, type IconName } from "../dom";

export function createZoom(app: App): HTMLElement {
  const button = (name: IconName, label: string, run: () => void): HTMLElement =>
    h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick: run }, icon(name));
  return h(
    "div",
    { class: "zoom card", role: "group", "aria-label": "Zoom" },
    button("plus", "Zoom in", () => app.map.value?.zoom(1)),
    button("minus", "Zoom out", () => app.map.value?.zoom(-1)),
    button("fit", "Show all sets (f)", () => app.map.value?.fit()),
  );
}
