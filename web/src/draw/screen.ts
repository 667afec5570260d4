// Screen: where points are on the map, in CSS pixels. North is up and nothing is tilted, so that both axes are linear.

import type { Map as GLMap } from "maplibre-gl";
import { latitude, longitude, mercatorX, mercatorY } from "../map/mercator";
import { point, type Point } from "./shape";

export interface Spot {
  x: number;
  y: number;
}

const tileSize = 512;
/** The circumference of the earth in metres, as Mercator has it. */
const equator = 40_075_016.686;

export class Screen {
  readonly #map: GLMap;
  #scale = 1;
  #x = 0;
  #y = 0;

  constructor(map: GLMap) {
    this.#map = map;
    this.update();
  }

  /** Reads the camera; before a drawing, and before a pointer is answered. */
  update(): void {
    this.#scale = tileSize * 2 ** this.#map.getZoom();
    const centre = this.#map.getCenter();
    const at = this.#map.project(centre);
    this.#x = at.x - mercatorX(centre.lng) * this.#scale;
    this.#y = at.y - mercatorY(centre.lat) * this.#scale;
  }

  get width(): number {
    return this.#map.getContainer().clientWidth;
  }

  get height(): number {
    return this.#map.getContainer().clientHeight;
  }

  spot([lon, lat]: Point): Spot {
    return { x: mercatorX(lon) * this.#scale + this.#x, y: mercatorY(lat) * this.#scale + this.#y };
  }

  point({ x, y }: Spot): Point {
    return point(longitude((x - this.#x) / this.#scale), latitude((y - this.#y) / this.#scale));
  }

  /** The middle of what the panels leave free. */
  middle(): Spot {
    return this.#map.project(this.#map.getCenter());
  }

  /** CSS pixels that so many metres are at a latitude. */
  pixels(metres: number, lat: number): number {
    return (metres / (equator * Math.cos((lat * Math.PI) / 180))) * this.#scale;
  }

  within({ x, y }: Spot, margin = 0): boolean {
    return x >= -margin && y >= -margin && x <= this.width + margin && y <= this.height + margin;
  }
}
