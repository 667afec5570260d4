// Pointer: the effects of hovering and clicking on the map. An object before a fence, a small fence before a large one;
// another click on the same spot takes the next fence below.

import type { LngLat, Map as GLMap, MapMouseEvent } from "maplibre-gl";
import { fetchHolders } from "../api";
import type { App } from "../app";
import { fill, h } from "../dom";
import { compass, formatSpeed, plural } from "../format";
import { stateName, type Located } from "../model/objects";
import type { FenceName } from "../model/sets";
import type { FenceLayers } from "./fences";
import type { Crowd, Disc } from "./crowd";
import type { Overlay } from "./overlay";

/** A tooltip names this many fences that lie on one another, and counts the rest. */
const namedFences = 4;

export class Pointer {
  readonly #app: App;
  readonly #map: GLMap;
  readonly #fences: FenceLayers;
  readonly #overlay: Overlay;
  readonly #crowd: Crowd;
  readonly #tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  #pending: MapMouseEvent | null = null;

  constructor(app: App, map: GLMap, fences: FenceLayers, overlay: Overlay, crowd: Crowd) {
    this.#app = app;
    this.#map = map;
    this.#fences = fences;
    this.#overlay = overlay;
    this.#crowd = crowd;
    map.getContainer().parentElement!.append(this.#tip);
    map.on("click", (event) => this.#click(event));
    map.on("mousemove", (event) => this.#move(event));
    map.on("mouseout", () => this.#leave());
    map.on("dragstart", () => this.#leave());
  }

  #click({ point, lngLat }: MapMouseEvent): void {
    if (this.#app.editing.value) return;
    const object = this.#app.objects.at(this.#overlay.pick(point.x, point.y));
    if (object) {
      this.#app.select({ kind: "object", fleet: object.fleet, id: object.id });
      return;
    }
    if (this.#crowd.at(point.x, point.y)) {
      this.#map.easeTo({ center: lngLat, zoom: this.#map.getZoom() + 2, duration: 400 });
      return;
    }
    const fences = this.#fences.at(point.x, point.y);
    if (fences.length === 0) this.#app.select(null);
    this.#selectNext(fences);
    const undrawn = fences.length === 0 ? this.#fences.undrawnAt(point.x, point.y) : [];
    if (undrawn.length > 0) void this.#selectUndrawn(undrawn, lngLat.wrap());
  }

  #selectNext(fences: readonly Pick<FenceName, "set" | "key">[]): void {
    if (fences.length === 0) return;
    const { selection } = this.#app.view.value;
    const present = fences.findIndex((f) => selection?.kind === "fence" && selection.set === f.set && selection.fence === f.key);
    const next = fences[(present + 1) % fences.length]!;
    this.#app.select({ kind: "fence", set: next.set, fence: next.key });
  }

  /** Fences that are too small to draw are known to the server only. */
  async #selectUndrawn(sets: readonly string[], { lng, lat }: LngLat): Promise<void> {
    const before = this.#app.view.value.selection;
    try {
      const keys = await Promise.all(sets.map((set) => fetchHolders(set, lng, lat)));
      // Unless something else has been selected meanwhile.
      if (this.#app.view.value.selection !== before) return;
      this.#selectNext(sets.flatMap((set, i) => keys[i]!.map((key) => ({ set, key }))));
    } catch {
      // Offline: the banner says so.
    }
  }

  #move(event: MapMouseEvent): void {
    if (this.#app.editing.value) {
      this.#leave();
      return;
    }
    // Pointers report up to 1,000 times a second; once a drawing is enough.
    if (!this.#pending) requestAnimationFrame(() => this.#hover());
    this.#pending = event;
  }

  #hover(): void {
    const event = this.#pending;
    this.#pending = null;
    if (!event || this.#map.isMoving()) return;
    const { x, y } = event.point;
    const object = this.#app.objects.at(this.#overlay.pick(x, y));
    const disc = object ? null : this.#crowd.at(x, y);
    const fences = disc ? [] : this.#fences.at(x, y);
    this.#fences.mark("hover", object ? null : (fences[0] ?? null));
    this.#map.getCanvas().style.cursor = object || disc || fences.length > 0 ? "pointer" : "";
    if (object) this.#show(x, y, ...describeObject(object));
    else if (disc) this.#show(x, y, ...describeDisc(disc));
    else if (fences.length > 0) this.#show(x, y, ...describeFences(fences));
    else this.#tip.hidden = true;
  }

  #show(x: number, y: number, ...lines: HTMLElement[]): void {
    fill(this.#tip, ...lines);
    this.#tip.hidden = false;
    const { clientWidth, clientHeight } = this.#map.getContainer();
    const { offsetWidth, offsetHeight } = this.#tip;
    const left = Math.min(x + 14, clientWidth - offsetWidth - 8);
    const top = y + 18 + offsetHeight > clientHeight ? y - offsetHeight - 10 : y + 18;
    this.#tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  #leave(): void {
    this.#pending = null;
    this.#tip.hidden = true;
    this.#fences.mark("hover", null);
  }
}

function describeDisc({ objects, silent }: Disc): HTMLElement[] {
  return [h("strong", {}, plural(objects, "object")), h("span", {}, silent > 0 ? `${plural(silent, "silent one")} among them` : "click to come closer")];
}

function describeObject(object: Located): HTMLElement[] {
  const facts = [object.fleet, stateName(object.state)];
  if (object.state === 0 && !Number.isNaN(object.speed)) facts.push(formatSpeed(object.speed));
  if (object.state === 0 && !Number.isNaN(object.heading)) facts.push(compass(object.heading));
  return [h("strong", {}, object.id), h("span", {}, facts.join(" · "))];
}

function describeFences(fences: FenceName[]): HTMLElement[] {
  const lines = fences.slice(0, namedFences).map((fence) => h("div", {}, h("strong", {}, fence.label), h("span", {}, fence.set)));
  if (fences.length > namedFences) lines.push(h("div", {}, h("span", {}, `and ${fences.length - namedFences} more`)));
  return lines;
}
