// The foot of the map: a scale bar, the place under the pointer with a way to copy it, and the zone of the times.

import type { App } from "../app";
import { fill, h, icon, setText } from "../dom";
import { formatClock, formatDistance, formatPlace, roundLength } from "../format";
import { copy } from "./parts";
import { utc } from "./zone";

/** The longest that the scale bar may be, in CSS pixels. */
const longestBar = 96;
const toldMs = 1_600;

export interface Foot {
  element: HTMLElement;
  /** Copies the place under the pointer, or that in the middle of the map. */
  copyPlace: () => void;
}

export function createFoot(app: App): Foot {
  const line = h("i", { "aria-hidden": "true" });
  const length = h("span", {});
  const scale = h("span", { class: "scale-bar", hidden: true }, line, length);
  app.metresPerPixel.bind((metres) => {
    scale.hidden = metres === 0;
    if (metres === 0) return;
    const round = roundLength(metres * longestBar);
    line.style.width = `${Math.round(round / metres)}px`;
    setText(length, formatDistance(round));
    scale.title = `This bar is ${formatDistance(round)} long in the middle of the map`;
  });

  const place = (): string => {
    const [lon, lat] = app.pointer.value ?? app.map.value?.center() ?? [0, 0];
    return formatPlace(lat, lon, 5);
  };
  const text = h("span", { class: "foot-place" });
  const copyPlace = (): void => {
    const copied = place();
    void copy(copied).then((worked) => {
      fill(text, icon(worked ? "check" : "close"), worked ? `Copied ${copied}` : "Not allowed");
      told = window.setTimeout(() => {
        told = undefined;
        show();
      }, toldMs);
    });
  };
  const button = h(
    "button",
    { type: "button", class: "foot-button", title: "Latitude, longitude under the pointer. Copy them with c, those in the middle of the map with a click", onclick: copyPlace },
    text,
  );
  let told: number | undefined;
  const show = (): void => {
    button.hidden = !app.map.value;
    if (told === undefined && app.map.value) setText(text, place());
  };
  app.pointer.watch(show);
  app.map.bind(show);
  app.view.watch((now, before) => {
    if (now.at !== before.at) show();
  });

  const source = h("span", { class: "foot-source" });
  app.attribution.bind((name) => {
    source.hidden = name === "";
    setText(source, name);
  });
  const element = h("div", { class: "foot", role: "group", "aria-label": "Map scale, place and time" }, scale, button, clock(), source);
  return { element, copyPlace };
}

function clock(): HTMLElement {
  const time = h("span", {});
  const zone = h("span", { class: "foot-zone" });
  const button = h(
    "button",
    { type: "button", class: "foot-button", onclick: () => utc.set(!utc.value) },
    time,
    " ",
    zone,
  );
  const tick = (): void => setText(time, formatClock(Date.now(), utc.value));
  utc.bind((on) => {
    setText(zone, on ? "UTC" : "local");
    button.title = on ? "Times are in UTC. Show them in your zone (u)" : "Times are in your zone. Show them in UTC (u)";
    tick();
  });
  window.setInterval(tick, 1000);
  return button;
}
