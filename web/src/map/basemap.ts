// The base map: a PMTiles archive that the platform serves, or a tile server that the operator has configured. A chunk of its
// own, which is loaded only if there is one.
//
// Vector tiles are those of the Protomaps basemap, version 4: docs.protomaps.com/basemaps/layers. They are drawn without
// labels, in the page's colours, as what lies below the fences and not as what is looked at.

import { addProtocol, type AddLayerObject, type ExpressionSpecification, type FilterSpecification, type Map as GLMap } from "maplibre-gl";
import { PMTiles, Protocol } from "pmtiles";
import { basemapURL, type Basemap } from "../api";
import type { MapColours } from "./colours";

const source = "basemap";
/** Of archives and servers of pictures, unless they say otherwise. */
const rasterPixels = 256;

let protocol: Protocol | undefined;

/** Adds the base map below a layer, or on top if there is none; returns the text that names its source. */
export async function addBasemap(map: GLMap, basemap: Basemap, colours: MapColours, dark: boolean, below: () => string | undefined): Promise<string> {
  const { kind, url = "", attribution = "" } = basemap;
  if (kind === "tiles") {
    map.addSource(source, { type: "raster", tiles: [url], tileSize: rasterPixels, maxzoom: 19 });
    add(map, rasterLayers(dark), below());
    return attribution;
  }
  if (!protocol) {
    protocol = new Protocol();
    addProtocol("pmtiles", protocol.tile);
  }
  const archive = new PMTiles(basemapURL());
  protocol.add(archive);
  const { minZoom, maxZoom, minLon, minLat, maxLon, maxLat } = await archive.getHeader();
  const tiles = {
    tiles: [`pmtiles://${basemapURL()}/{z}/{x}/{y}`],
    minzoom: minZoom,
    maxzoom: maxZoom,
    bounds: [minLon, minLat, maxLon, maxLat] as [number, number, number, number],
  };
  if (kind === "raster") {
    map.addSource(source, { type: "raster", tileSize: rasterPixels, ...tiles });
    add(map, rasterLayers(dark), below());
  } else {
    map.addSource(source, { type: "vector", ...tiles });
    add(map, vectorLayers(colours), below());
  }
  return attribution || sourceOf(await archive.getMetadata().catch(() => null));
}

/** Gives the base map the colours of light or dark. */
export function recolourBasemap(map: GLMap, colours: MapColours, dark: boolean): void {
  if (!map.getSource(source)) return;
  for (const layer of [...vectorLayers(colours), ...rasterLayers(dark)]) {
    if (!map.getLayer(layer.id) || !("paint" in layer)) continue;
    for (const [name, value] of Object.entries(layer.paint ?? {})) {
      map.setPaintProperty(layer.id, name as Parameters<GLMap["setPaintProperty"]>[1], value as string);
    }
  }
}

function add(map: GLMap, layers: AddLayerObject[], below: string | undefined): void {
  for (const layer of layers) map.addLayer(layer, below);
}

/** The attribution of an archive's metadata, which may be HTML, as text. */
function sourceOf(metadata: unknown): string {
  const { attribution } = (metadata ?? {}) as { attribution?: unknown };
  if (typeof attribution !== "string") return "";
  // A document that is parsed so runs nothing and loads nothing.
  const text = new DOMParser().parseFromString(attribution, "text/html").body.textContent.trim();
  return text.slice(0, 200);
}

/** Pictures have loud colours of their own, made for light. */
function rasterLayers(dark: boolean): AddLayerObject[] {
  const paint = dark
    ? { "raster-saturation": -0.8, "raster-brightness-max": 0.3, "raster-contrast": -0.1, "raster-opacity": 0.9, "raster-fade-duration": 0 }
    : { "raster-saturation": -0.6, "raster-brightness-max": 1, "raster-contrast": -0.15, "raster-opacity": 0.7, "raster-fade-duration": 0 };
  return [{ id: "basemap:raster", type: "raster", source, paint }];
}

const green = ["national_park", "park", "cemetery", "protected_area", "nature_reserve", "forest", "golf_course", "wood", "scrub", "grassland", "grass", "farmland", "garden", "meadow"];
const built = ["residential", "industrial", "commercial", "urban_area", "aerodrome", "railway", "hospital", "school", "university"];

function isKind(...kinds: string[]): ExpressionSpecification {
  return ["in", ["get", "kind"], ["literal", kinds]];
}

/** From the bottom up. */
function vectorLayers({ paper, basemap: c }: MapColours): AddLayerObject[] {
  const fill = (id: string, layer: string, colour: string | ExpressionSpecification, filter?: FilterSpecification): AddLayerObject => ({
    id: `basemap:${id}`,
    type: "fill",
    source,
    "source-layer": layer,
    ...(filter ? { filter } : {}),
    paint: { "fill-color": colour, "fill-antialias": false },
  });
  const line = (id: string, layer: string, colour: string, width: ExpressionSpecification | number, filter: FilterSpecification, dashes?: number[]): AddLayerObject => ({
    id: `basemap:${id}`,
    type: "line",
    source,
    "source-layer": layer,
    filter,
    layout: { "line-cap": dashes ? "butt" : "round", "line-join": "round" },
    paint: { "line-color": colour, "line-width": width, ...(dashes ? { "line-dasharray": dashes } : {}) },
  });
  const by = (...stops: number[]): ExpressionSpecification => ["interpolate", ["exponential", 1.6], ["zoom"], ...stops] as unknown as ExpressionSpecification;
  const areas: FilterSpecification = ["==", ["geometry-type"], "Polygon"];
  const landColour: ExpressionSpecification = ["case", isKind(...green), c.green, isKind(...built), c.built, paper];
  const isRoad = (...kinds: string[]): FilterSpecification => isKind(...kinds);
  return [
    fill("earth", "earth", paper, areas),
    fill("landuse", "landuse", landColour, ["all", areas, isKind(...green, ...built)]),
    fill("water", "water", c.water, areas),
    line("rivers", "water", c.water, by(8, 0.5, 14, 2, 18, 10), ["==", ["geometry-type"], "LineString"]),
    fill("buildings", "buildings", c.built, areas),
    line("paths", "roads", c.minor, by(14, 0.5, 18, 3), isRoad("path")),
    line("rail", "roads", c.border, by(10, 0.4, 16, 1.5), isRoad("rail"), [3, 2]),
    line("minor", "roads", c.minor, by(12, 0.5, 15, 3, 18, 14), isRoad("minor_road")),
    line("major", "roads", c.road, by(8, 0.5, 14, 4, 18, 20), isRoad("major_road", "medium_road")),
    line("highway", "roads", c.road, by(5, 0.5, 10, 2, 14, 6, 18, 26), isRoad("highway")),
    line("borders", "boundaries", c.border, by(2, 0.5, 10, 1.5), ["==", ["geometry-type"], "LineString"], [3, 2]),
  ];
}
