// FenceLayers: the sets as polygons on the map, a source and two layers for each, and of a large set a third one for the
// fences that are too small to see. Hover, selection and flash are feature-state, so that nothing is sent to the worker again.

import type { ExpressionSpecification, FeatureIdentifier, FilterSpecification, GeoJSONSource, Map as GLMap, VectorTileSource } from "maplibre-gl";
import { drawingOrder, withKey, type FenceName, type FenceSet } from "../model/sets";
import type { MapColours } from "./colours";
import { Flashes } from "./flashes";

const source = (set: string): string => `set:${set}`;
const fillLayer = (set: string): string => `fill:${set}`;
const lineLayer = (set: string): string => `line:${set}`;
const restLayer = (set: string): string => `rest:${set}`;

/** The layers of a large set's tiles: docs/reference/http.md. */
const tiles = { fences: "fences", rest: "rest", maxzoom: 18 };

/** CSS pixels up to which a fence's fill flashes. */
const largestFill = 110;

type Mark = "hover" | "selected";

export class FenceLayers {
  readonly #map: GLMap;
  readonly #flashes: Flashes;
  #colours: MapColours;
  #sets = new Map<string, FenceSet>();
  #hidden: readonly string[] = [];
  #plain = false;
  readonly #marked: Record<Mark, FenceName | null> = { hover: null, selected: null };

  constructor(map: GLMap, colours: MapColours) {
    this.#map = map;
    this.#colours = colours;
    this.#flashes = new Flashes(({ set, feature, fills }, kind, level) => {
      const target = this.#target(set, feature);
      if (!target) return;
      const marked = Object.values(this.#marked).some((fence) => fence?.set === set && fence.feature === feature);
      // Fences by the thousand flash in a day: none of them leaves anything behind.
      if (level === 0 && !marked) map.removeFeatureState(target);
      else map.setFeatureState(target, { flash: level, glow: fills ? level : 0, kind });
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
      if (this.#replace(name, set)) continue;
      if (this.#sets.has(name)) this.#remove(name);
      this.#add(name, set);
    }
    for (const set of drawingOrder(this.#sets.values())) for (const layer of layersOf(set)) this.#map.moveLayer(layer);
    this.setHidden(this.#hidden);
    for (const mark of ["hover", "selected"] as const) this.mark(mark, this.#marked[mark]);
  }

  /** Draws all sets in one colour, while the palette is for something else. */
  setPlain(plain: boolean): void {
    if (plain === this.#plain) return;
    this.#plain = plain;
    for (const set of this.#sets.values()) this.#paint(set);
  }

  setHidden(hidden: readonly string[]): void {
    this.#hidden = hidden;
    for (const [name, set] of this.#sets) {
      const visibility = hidden.includes(name) ? "none" : "visible";
      for (const layer of layersOf(set)) this.#map.setLayoutProperty(layer, "visibility", visibility);
    }
  }

  /** The fences under a point in CSS pixels, the topmost first. */
  at(x: number, y: number): FenceName[] {
    const layers = this.#shown().map(([name]) => fillLayer(name));
    if (layers.length === 0) return [];
    const found = new Map<string, FenceName>();
    for (const feature of this.#map.queryRenderedFeatures([x, y], { layers })) {
      const name = feature.source.slice(source("").length);
      const set = this.#sets.get(name);
      const fence = set && (isTiled(set) ? tiledFence(name, feature.properties) : set.fences[Number(feature.id)]);
      if (fence) found.set(`${name}/${fence.key}`, fence);
    }
    return [...found.values()];
  }

  /** The large sets that have fences around a point that are too small to draw. */
  undrawnAt(x: number, y: number): string[] {
    const layers = this.#shown().filter(([, set]) => isTiled(set)).map(([name]) => restLayer(name));
    if (layers.length === 0) return [];
    const found = this.#map.queryRenderedFeatures([x, y], { layers });
    return [...new Set(found.map((feature) => feature.source.slice(source("").length)))];
  }

  mark(mark: Mark, fence: FenceName | null): void {
    const before = this.#marked[mark];
    const last = before && this.#target(before.set, before.feature);
    if (last) this.#map.setFeatureState(last, { [mark]: false });
    this.#marked[mark] = fence;
    const set = fence && this.#sets.get(fence.set);
    if (!set) return;
    // The set may have been loaded again since: look the fence up by its key.
    const now = isTiled(set) ? { ...fence, feature: fence.key } : set.byKey.get(fence.key);
    const target = now && this.#target(now.set, now.feature);
    if (!target) return;
    this.#marked[mark] = now;
    this.#map.setFeatureState(target, { [mark]: true });
  }

  flash(set: string, key: string, kind: string): void {
    if (this.#hidden.includes(set)) return;
    const known = this.#sets.get(set);
    if (known && isTiled(known)) {
      this.#flashes.add({ set, feature: key, fills: true }, kind); // its tile knows how large it is
      return;
    }
    const fence = known?.byKey.get(key);
    if (!fence) return;
    const [w, s, e, n] = fence.bounds;
    const a = this.#map.project([w, n]);
    const b = this.#map.project([e, s]);
    const fills = Math.max(b.x - a.x, b.y - a.y) <= largestFill;
    this.#flashes.add({ set, feature: fence.feature, fills }, kind);
  }

  /** The sets that are drawn. */
  get visible(): FenceSet[] {
    return this.#shown().map(([, set]) => set);
  }

  #shown(): [name: string, set: FenceSet][] {
    return [...this.#sets].filter(([name]) => !this.#hidden.includes(name));
  }

  #target(name: string, feature: FenceName["feature"]): FeatureIdentifier | undefined {
    const set = this.#sets.get(name);
    if (!set) return undefined;
    return isTiled(set) ? { source: source(name), sourceLayer: tiles.fences, id: feature } : { source: source(name), id: feature };
  }

  /** Gives a set that is there its new fences. It reports false for one that is not there, or was drawn in the other way. */
  #replace(name: string, set: FenceSet): boolean {
    const before = this.#sets.get(name);
    if (!before || isTiled(before) !== isTiled(set)) return false;
    const { drawn } = set;
    if (typeof drawn === "string") {
      this.#map.removeFeatureState({ source: source(name), sourceLayer: tiles.fences });
      this.#map.getSource<VectorTileSource>(source(name))?.setTiles([drawn]);
    } else {
      this.#map.removeFeatureState({ source: source(name) });
      void this.#map.getSource<GeoJSONSource>(source(name))?.setData(drawn);
    }
    this.#sets.set(name, set);
    return true;
  }

  #add(name: string, set: FenceSet): void {
    const { drawn } = set;
    const from = { source: source(name), ...(typeof drawn === "string" ? { "source-layer": tiles.fences } : {}) };
    if (typeof drawn === "string") {
      const { fences, rest, maxzoom } = tiles;
      this.#map.addSource(source(name), { type: "vector", tiles: [drawn], maxzoom, promoteId: { [fences]: "key" } });
      this.#map.addLayer({ id: restLayer(name), type: "fill", source: source(name), "source-layer": rest, paint: { "fill-antialias": false } });
    } else {
      this.#map.addSource(source(name), { type: "geojson", data: drawn, tolerance: 0.3, buffer: 32, maxzoom: 16 });
    }
    // A line would be filled too, as if it were a ring.
    const areas: FilterSpecification = ["match", ["geometry-type"], ["Polygon", "MultiPolygon"], true, false];
    this.#map.addLayer({ id: fillLayer(name), type: "fill", ...from, filter: areas, paint: { "fill-antialias": false } });
    this.#map.addLayer({ id: lineLayer(name), type: "line", ...from, layout: { "line-join": "round" } });
    this.#sets.set(name, set);
    this.#paint(set);
  }

  #remove(name: string): void {
    this.#flashes.drop(name);
    for (const layer of layersOf(this.#sets.get(name)!)) this.#map.removeLayer(layer);
    this.#map.removeSource(source(name));
    this.#sets.delete(name);
  }

  #paint(set: FenceSet): void {
    const { info, colour } = set;
    const { name } = info;
    const map = this.#map;
    const colours = this.#colours;
    const own = this.#plain ? colours.plain.fill : colours.sets[colour]!;
    const border = this.#plain ? colours.plain.border : colours.borders[colour]!;
    const flash: ExpressionSpecification = ["coalesce", ["feature-state", "flash"], 0];
    const glow: ExpressionSpecification = ["coalesce", ["feature-state", "glow"], 0];
    // Tiles mark the fences that fill much of the screen.
    const fillGlow: ExpressionSpecification = ["case", ["has", "large"], 0, glow];
    const is = (mark: Mark): ExpressionSpecification => ["boolean", ["feature-state", mark], false];
    const kind: ExpressionSpecification = ["coalesce", ["feature-state", "kind"], ""];
    const lit = ["match", kind, ...Object.entries(colours.kinds).flat(), colours.selection] as unknown as ExpressionSpecification;
    map.setPaintProperty(fillLayer(name), "fill-color", [
      "case",
      [">", fillGlow, 0],
      lit,
      is("selected"),
      colours.selection,
      own,
    ]);
    map.setPaintProperty(fillLayer(name), "fill-opacity", [
      "+",
      ["case", is("selected"), 0.2, is("hover"), colours.fill + 0.1, colours.fill],
      ["*", 0.3, fillGlow],
    ]);
    if (isTiled(set)) {
      map.setPaintProperty(restLayer(name), "fill-color", own);
      map.setPaintProperty(restLayer(name), "fill-opacity", colours.fill + 0.25);
    }
    map.setPaintProperty(lineLayer(name), "line-color", [
      "case",
      is("selected"),
      colours.selection,
      [">", flash, 0.2],
      lit,
      is("hover"),
      own,
      border,
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

function isTiled(set: FenceSet): boolean {
  return typeof set.drawn === "string";
}

/** From the bottom up. */
function layersOf(set: FenceSet): string[] {
  const { name } = set.info;
  return [...(isTiled(set) ? [restLayer(name)] : []), fillLayer(name), lineLayer(name)];
}

function tiledFence(set: string, properties: Record<string, unknown>): FenceName {
  const key = String(properties.key);
  const name = typeof properties.name === "string" ? properties.name : "";
  return { set, key, label: withKey(name, key), feature: key };
}
