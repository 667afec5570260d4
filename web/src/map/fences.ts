// FenceLayers: the sets as polygons on the map, a source and two layers for each. A feature's id is its fence's
// ordinal; hover, selection and flash are feature-state, so that nothing is sent to the worker again.

import type { ExpressionSpecification, GeoJSONSource, Map as GLMap } from "maplibre-gl";
import { drawingOrder, type FenceInfo, type FenceSet } from "../model/sets";
import type { MapColours } from "./colours";
import { Flashes } from "./flashes";

const source = (set: string): string => `set:${set}`;
const fillLayer = (set: string): string => `fill:${set}`;
const lineLayer = (set: string): string => `line:${set}`;

/** CSS pixels up to which a fence's fill flashes. */
const largestFill = 110;

type Mark = "hover" | "selected";

export class FenceLayers {
  readonly #map: GLMap;
  readonly #flashes: Flashes;
  #colours: MapColours;
  #sets = new Map<string, FenceSet>();
  #hidden: readonly string[] = [];
  readonly #marked: Record<Mark, FenceInfo | null> = { hover: null, selected: null };

  constructor(map: GLMap, colours: MapColours) {
    this.#map = map;
    this.#colours = colours;
    this.#flashes = new Flashes(({ set, ordinal, fills }, kind, level) => {
      if (!this.#sets.has(set)) return;
      map.setFeatureState({ source: source(set), id: ordinal }, { flash: level, glow: fills ? level : 0, kind });
    });
  }

  get sets(): ReadonlyMap<string, FenceSet> {
    return this.#sets;
  }

  /** Whether every set's fences in view have come back from the worker. */
  get complete(): boolean {
    return [...this.#sets.keys()].every((name) => this.#map.isSourceLoaded(source(name)));
  }

  setColours(colours: MapColours): void {
    this.#colours = colours;
    for (const set of this.#sets.values()) this.#paint(set);
  }

  show(sets: ReadonlyMap<string, FenceSet>): void {
    for (const name of this.#sets.keys()) if (!sets.has(name)) this.#remove(name);
    for (const [name, set] of sets) {
      if (this.#sets.get(name) === set) continue;
      this.#flashes.drop(name);
      const present = this.#map.getSource<GeoJSONSource>(source(name));
      if (present) {
        this.#map.removeFeatureState({ source: source(name) });
        void present.setData(set.shapes);
      } else {
        this.#add(name, set);
      }
      this.#sets.set(name, set);
    }
    for (const { info } of drawingOrder(this.#sets.values())) {
      this.#map.moveLayer(fillLayer(info.name));
      this.#map.moveLayer(lineLayer(info.name));
    }
    this.setHidden(this.#hidden);
    for (const mark of ["hover", "selected"] as const) this.mark(mark, this.#marked[mark]);
  }

  setHidden(hidden: readonly string[]): void {
    this.#hidden = hidden;
    for (const name of this.#sets.keys()) {
      const visibility = hidden.includes(name) ? "none" : "visible";
      this.#map.setLayoutProperty(fillLayer(name), "visibility", visibility);
      this.#map.setLayoutProperty(lineLayer(name), "visibility", visibility);
    }
  }

  /** The fences under a point in CSS pixels, the topmost first. */
  at(x: number, y: number): FenceInfo[] {
    const layers = [...this.#sets.keys()].filter((name) => !this.#hidden.includes(name)).map(fillLayer);
    if (layers.length === 0) return [];
    const found: FenceInfo[] = [];
    for (const feature of this.#map.queryRenderedFeatures([x, y], { layers })) {
      const fence = this.#sets.get(feature.source.slice(source("").length))?.fences[Number(feature.id)];
      if (fence && !found.includes(fence)) found.push(fence);
    }
    return found;
  }

  mark(mark: Mark, fence: FenceInfo | null): void {
    const before = this.#marked[mark];
    if (before && this.#sets.has(before.set)) {
      this.#map.setFeatureState({ source: source(before.set), id: before.ordinal }, { [mark]: false });
    }
    this.#marked[mark] = fence;
    // The set may have been loaded again since: look the fence up by its key.
    const now = fence ? this.#sets.get(fence.set)?.byKey.get(fence.key) : undefined;
    if (!now) return;
    this.#marked[mark] = now;
    this.#map.setFeatureState({ source: source(now.set), id: now.ordinal }, { [mark]: true });
  }

  flash(set: string, key: string, kind: string): void {
    if (this.#hidden.includes(set)) return;
    const fence = this.#sets.get(set)?.byKey.get(key);
    if (!fence) return;
    const [w, s, e, n] = fence.bounds;
    const a = this.#map.project([w, n]);
    const b = this.#map.project([e, s]);
    const fills = Math.max(b.x - a.x, b.y - a.y) <= largestFill;
    this.#flashes.add({ set, ordinal: fence.ordinal, fills }, kind);
  }

  #add(name: string, set: FenceSet): void {
    this.#map.addSource(source(name), { type: "geojson", data: set.shapes, tolerance: 0.3, buffer: 32, maxzoom: 16 });
    this.#map.addLayer({ id: fillLayer(name), type: "fill", source: source(name), paint: { "fill-antialias": false } });
    this.#map.addLayer({ id: lineLayer(name), type: "line", source: source(name), layout: { "line-join": "round" } });
    this.#paint(set);
  }

  #remove(name: string): void {
    this.#flashes.drop(name);
    this.#map.removeLayer(fillLayer(name));
    this.#map.removeLayer(lineLayer(name));
    this.#map.removeSource(source(name));
    this.#sets.delete(name);
  }

  #paint({ info: { name }, colour }: FenceSet): void {
    const map = this.#map;
    const colours = this.#colours;
    const flash: ExpressionSpecification = ["coalesce", ["feature-state", "flash"], 0];
    const glow: ExpressionSpecification = ["coalesce", ["feature-state", "glow"], 0];
    const is = (mark: Mark): ExpressionSpecification => ["boolean", ["feature-state", mark], false];
    const kind: ExpressionSpecification = ["coalesce", ["feature-state", "kind"], ""];
    const lit: ExpressionSpecification = ["match", kind, "enter", colours.enter, "exit", colours.exit, colours.dwell];
    map.setPaintProperty(fillLayer(name), "fill-color", [
      "case",
      [">", glow, 0],
      lit,
      is("selected"),
      colours.selection,
      colours.sets[colour]!,
    ]);
    map.setPaintProperty(fillLayer(name), "fill-opacity", [
      "+",
      ["case", is("selected"), 0.2, is("hover"), colours.fill + 0.1, colours.fill],
      ["*", 0.3, glow],
    ]);
    map.setPaintProperty(lineLayer(name), "line-color", [
      "case",
      is("selected"),
      colours.selection,
      [">", flash, 0.2],
      lit,
      is("hover"),
      colours.sets[colour]!,
      colours.borders[colour]!,
    ]);
    map.setPaintProperty(lineLayer(name), "line-width", [
      "case",
      is("selected"),
      2.25,
      [">", flash, 0.2],
      1.5,
      is("hover"),
      1.5,
      0.75,
    ]);
  }
}
