// Ground: loads the base map as soon as the server has said that there is one, and keeps it in the page's colours.

import type { Map as GLMap } from "maplibre-gl";
import type { Basemap } from "../api";
import type { App } from "../app";
import { backoffMs } from "../live/backoff";
import type { MapColours } from "./colours";

/** Then it is asked for again with the next connection. */
const attempts = 10;

const dark = matchMedia("(prefers-color-scheme: dark)");

export class Ground {
  readonly #app: App;
  readonly #map: GLMap;
  #colours: MapColours;
  #loading = false;
  #recolour: (() => void) | undefined;

  constructor(app: App, map: GLMap, colours: MapColours) {
    this.#app = app;
    this.#map = map;
    this.#colours = colours;
    app.hello.bind((hello) => {
      if (hello?.basemap && !this.#loading && !this.#added) void this.#load(hello.basemap);
    });
  }

  /** Whether the map has it, complete or not: it cannot be added again. */
  get #added(): boolean {
    return this.#map.getSource("basemap") !== undefined;
  }

  /** Whether there is a base map, and what is in view of it has been loaded. */
  get drawn(): boolean {
    return this.#recolour !== undefined && this.#map.isSourceLoaded("basemap");
  }

  setColours(colours: MapColours): void {
    this.#colours = colours;
    this.#recolour?.();
  }

  async #load(basemap: Basemap): Promise<void> {
    this.#loading = true;
    for (let i = 0; i < attempts && !this.#added; i++) {
      if (i > 0) await new Promise((resolve) => window.setTimeout(resolve, backoffMs(i)));
      try {
        await this.#add(basemap);
      } catch (error) {
        // Fences and objects do without it.
        console.error("base map:", error);
      }
    }
    this.#loading = false;
  }

  async #add(basemap: Basemap): Promise<void> {
    const { addBasemap, recolourBasemap } = await import("./basemap");
    // Above the paper, below the sets.
    const below = (): string | undefined => this.#map.getStyle().layers[1]?.id;
    this.#app.attribution.set(await addBasemap(this.#map, basemap, this.#colours, dark.matches, below));
    this.#recolour = () => recolourBasemap(this.#map, this.#colours, dark.matches);
    this.#recolour(); // the colours may have changed meanwhile
  }
}
