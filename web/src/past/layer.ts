// TrackLayer: the selected object's track on the map: a line coloured by speed or time with arrows along it, gaps dashed,
// stops as rings.

import type { ExpressionSpecification, GeoJSONSource, LngLatBoundsLike, Map as GLMap } from "maplibre-gl";
import type { FeatureCollection } from "geojson";
import type { App } from "../app";
import { gapLines, strokesOf, type DayTrack } from "./day";

const source = "past-track";
const arrow = "past-arrow";
const layers = ["past-gap", "past-case", "past-line", "past-arrows", "past-stop"] as const;

export class TrackLayer {
  readonly #app: App;
  readonly #map: GLMap;

  constructor(app: App, map: GLMap) {
    this.#app = app;
    this.#map = map;
    map.addImage(arrow, arrowImage(), { sdf: true, pixelRatio: 2 });
    map.addSource(source, { type: "geojson", data: none(), tolerance: 0.2 });
    const is = (kind: string): ["==", ["get", string], string] => ["==", ["get", "kind"], kind];
    const round = { "line-cap": "round", "line-join": "round" } as const;
    map.addLayer({ id: "past-gap", type: "line", source, filter: is("gap"), paint: { "line-width": 1.5, "line-dasharray": [1, 3] } });
    map.addLayer({ id: "past-case", type: "line", source, filter: is("stroke"), layout: round, paint: { "line-width": 6.5 } });
    map.addLayer({ id: "past-line", type: "line", source, filter: is("stroke"), layout: round, paint: { "line-width": 3.5 } });
    map.addLayer({
      id: "past-arrows",
      type: "symbol",
      source,
      filter: is("way"),
      layout: { "symbol-placement": "line", "symbol-spacing": 110, "icon-image": arrow, "icon-size": 0.95, "icon-padding": 8 },
    });
    map.addLayer({ id: "past-stop", type: "circle", source, filter: is("stop"), paint: { "circle-radius": 4.5, "circle-stroke-width": 2 } });
    this.recolour();
    app.past.track.bind((track) => this.#show(track));
    app.past.colour.watch(() => this.#draw(app.past.track.value));
    // New sets lie on top of everything that was there.
    app.catalog.sets.watch(() => this.#raise());
    app.view.watch((now, before) => {
      if (now.hidden !== before.hidden) this.#raise();
    });
  }

  /** Takes the colours of the style sheet. */
  recolour(): void {
    const style = getComputedStyle(document.documentElement);
    const css = (name: string): string => style.getPropertyValue(name).trim();
    const shade: ExpressionSpecification = ["interpolate", ["linear"], ["get", "shade"], 0, css("--ramp-0"), 0.5, css("--ramp-1"), 1, css("--ramp-2")];
    const map = this.#map;
    map.setPaintProperty("past-gap", "line-color", css("--ink-3"));
    map.setPaintProperty("past-case", "line-color", css("--paper"));
    map.setPaintProperty("past-line", "line-color", shade);
    map.setPaintProperty("past-arrows", "icon-color", css("--ink"));
    map.setPaintProperty("past-arrows", "icon-halo-color", css("--paper"));
    map.setPaintProperty("past-arrows", "icon-halo-width", 1.5);
    map.setPaintProperty("past-stop", "circle-color", css("--paper"));
    map.setPaintProperty("past-stop", "circle-stroke-color", css("--ink"));
  }

  #show(track: DayTrack | null): void {
    this.#draw(track);
    if (!track || track.t.length === 0) return;
    // Unless some of it is in view, the map goes there.
    const bounds = this.#map.getBounds();
    const { fleet, id } = track;
    if (this.#app.objects.find(fleet, id) || track.lon.some((lon, i) => bounds.contains([lon, track.lat[i]!]))) return;
    this.#map.fitBounds(boundsOf(track), { padding: 60, maxZoom: 15, duration: 600 });
  }

  #draw(track: DayTrack | null): void {
    void this.#map.getSource<GeoJSONSource>(source)?.setData(track ? featuresOf(track, this.#app.past.colour.value) : none());
    this.#raise();
  }

  #raise(): void {
    for (const layer of layers) this.#map.moveLayer(layer);
  }
}

function none(): FeatureCollection {
  return { type: "FeatureCollection", features: [] };
}

function featuresOf(track: DayTrack, by: "speed" | "time"): FeatureCollection {
  const line = (coordinates: [number, number][], properties: Record<string, unknown>): FeatureCollection["features"][number] => ({
    type: "Feature",
    properties,
    geometry: { type: "LineString", coordinates },
  });
  return {
    type: "FeatureCollection",
    features: [
      ...gapLines(track).map((coordinates) => line(coordinates, { kind: "gap" })),
      ...strokesOf(track, by).map(({ shade, coordinates }) => line(coordinates, { kind: "stroke", shade })),
      ...waysOf(track).map((coordinates) => line(coordinates, { kind: "way" })),
      ...track.stops.map(({ lon, lat }): FeatureCollection["features"][number] => ({
        type: "Feature",
        properties: { kind: "stop" },
        geometry: { type: "Point", coordinates: [lon, lat] },
      })),
    ],
  };
}

/** The line between two gaps each, without the stops, for the arrows. */
function waysOf({ t, lon, lat, speed, stops }: DayTrack): [number, number][][] {
  const ways: [number, number][][] = [];
  let present: [number, number][] = [];
  let stop = 0;
  for (let i = 0; i < t.length; i++) {
    while (stop < stops.length && stops[stop]!.to < t[i]!) stop++;
    const stands = stop < stops.length && stops[stop]!.from < t[i]!;
    if (Number.isNaN(speed[i]) || stands) {
      if (present.length > 1) ways.push(present);
      present = [];
    }
    if (!stands) present.push([lon[i]!, lat[i]!]);
  }
  if (present.length > 1) ways.push(present);
  return ways;
}

function boundsOf({ lon, lat }: DayTrack): LngLatBoundsLike {
  const least = (list: number[]): number => list.reduce((a, b) => Math.min(a, b), Infinity);
  const most = (list: number[]): number => list.reduce((a, b) => Math.max(a, b), -Infinity);
  return [least(lon), least(lat), most(lon), most(lat)];
}

/** An arrow to the right. */
function arrowImage(): ImageData {
  const size = 40;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  const context = canvas.getContext("2d")!;
  context.beginPath();
  context.moveTo(11, 9);
  context.lineTo(31, 20);
  context.lineTo(11, 31);
  context.lineTo(16, 20);
  context.closePath();
  context.fill();
  return context.getImageData(0, 0, size, size);
}
