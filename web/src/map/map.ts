// The map: everything that needs maplibre-gl. It is a chunk of its own, loaded when figures and feed are already up.

import "maplibre-gl/dist/maplibre-gl.css";
import { Map as GLMap, setWorkerCount, setWorkerUrl, type PaddingOptions } from "maplibre-gl";
import workerURL from "maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url";
import { fetchObject, type Bounds } from "../api";
import type { App, DrawnObject, MapActions, MapStatistics } from "../app";
import { State, type Frame } from "../live/frame";
import { matches } from "../model/filter";
import { objectKey } from "../model/objects";
import { union } from "../model/sets";
import { eventKind, isChange, isCount, kindColour } from "../model/kinds";
import type { Selection, View } from "../view";
import { TrackLayer } from "../past/layer";
import { readColours, type MapColours } from "./colours";
import { cellLevel, Crowd } from "./crowd";
import { FenceLayers } from "./fences";
import { Ground } from "./ground";
import { MapLabels } from "./labels";
import { latitude, longitude, mercatorX, mercatorY } from "./mercator";
import { Overlay, type Camera } from "./overlay";
import { pathTo } from "./path";
import { Pointer } from "./pointer";
import { Sheet } from "./sheet";

setWorkerUrl(workerURL);
setWorkerCount(1);

const tileSize = 512;
/** Metres. */
const equator = 40_075_016.686;
/** The server hears of a moved map at most this often. */
const viewEveryMs = 250;
/** An object that is selected from far away is shown at least this close. */
const objectZoom = 13.5;

/** How much of the map's edges the panels cover, in CSS pixels. */
export type Margins = () => PaddingOptions;

export async function createMap(app: App, root: HTMLElement, margins: Margins): Promise<void> {
  const colours = readColours();
  const container = root.querySelector<HTMLElement>(".map-gl")!;
  const { at } = app.view.value;
  const map = new GLMap({
    container,
    style: {
      version: 8,
      transition: { duration: 0, delay: 0 },
      sources: {},
      layers: [{ id: "paper", type: "background", paint: { "background-color": colours.paper } }],
    },
    center: at ? [at.lon, at.lat] : [0, 20],
    zoom: at?.zoom ?? 1.5,
    maxZoom: 20,
    attributionControl: false,
    dragRotate: false,
    pitchWithRotate: false,
    touchPitch: false,
    renderWorldCopies: false,
    fadeDuration: 0,
    // Borders are smooth by their shader; smoothing everything would quadruple the work.
    canvasContextAttributes: { antialias: false },
  });
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  map.setPadding(margins());
  describe(map);
  if (!map.isStyleLoaded()) await map.once("load");
  new MapView(app, map, root.querySelector<HTMLCanvasElement>(".map-overlay")!, margins, colours).start();
}

function describe(map: GLMap): void {
  const canvas = map.getCanvas();
  canvas.setAttribute("aria-label", "Map of fences and objects. Arrow keys move it, plus and minus zoom.");
  canvas.setAttribute("role", "application");
}

class MapView implements MapActions {
  readonly #app: App;
  readonly #map: GLMap;
  readonly #fences: FenceLayers;
  readonly #overlay: Overlay;
  readonly #margins: Margins;
  readonly #sheet = new Sheet();
  readonly #crowd = new Crowd();
  readonly #labels: MapLabels;
  readonly #ground: Ground;
  #track: TrackLayer | undefined;
  #colours: MapColours;
  /** Whether the map is where the viewer or the address put it, or where the sets are. */
  #placed: boolean;
  /** A selected fence whose set has not been loaded yet. */
  #awaited: Selection | null = null;
  #viewTimer: number | undefined;
  #drawings = 0;

  constructor(app: App, map: GLMap, canvas: HTMLCanvasElement, margins: Margins, colours: MapColours) {
    this.#app = app;
    this.#map = map;
    this.#margins = margins;
    this.#colours = colours;
    this.#placed = app.view.value.at !== null;
    this.#fences = new FenceLayers(map, colours);
    this.#overlay = new Overlay(canvas, colours, () => this.#camera());
    this.#labels = new MapLabels(app, this.#overlay);
    this.#ground = new Ground(app, map, colours);
    canvas.after(this.#sheet.canvas);
    new Pointer(app, map, this.#fences, this.#overlay, this.#crowd);
  }

  start(): void {
    this.#watchMap();
    this.#watchApp();
    this.#track = new TrackLayer(this.#app, this.#map);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#recolour());
    this.#app.map.set(this);
    this.#sendView();
  }

  #watchMap(): void {
    const { view, following } = this.#app;
    this.#map.on("render", () => {
      this.#drawings++;
      this.#overlay.draw();
    });
    this.#map.on("mousemove", ({ lngLat }) => {
      const { lng, lat } = lngLat.wrap();
      this.#app.pointer.set([lng, lat]);
    });
    this.#map.on("mouseout", () => this.#app.pointer.set(null));
    this.#map.on("move", () => this.#tellScale());
    this.#tellScale();
    this.#map.on("move", () => {
      this.#labels.placeSoon();
      this.#sendViewSoon();
    });
    // The end of a zoom by the wheel does not say that it was one.
    this.#map.on("wheel", () => (this.#placed = true));
    this.#map.on("moveend", ({ originalEvent }) => {
      if (originalEvent) this.#placed = true; // by hand
      const { lng: lon, lat } = this.#map.getCenter();
      const at = { lon, lat, zoom: this.#map.getZoom() };
      if (this.#placed) view.update((v) => ({ ...v, at }));
      this.#sendViewSoon();
    });
    this.#map.on("dragstart", () => following.set(false));
    this.#map.on("resize", () => this.#map.setPadding(this.#margins()));
    following.bind((on) => {
      // Zooming while following keeps the object in the middle. A handler takes options only when it is switched on.
      this.#map.scrollZoom.disable();
      this.#map.scrollZoom.enable(on ? { around: "center" } : undefined);
    });
    this.#overlay.beforeDraw = () => this.#follow();
    this.#overlay.afterDraw = (camera) => {
      const { width, height } = camera;
      this.#sheet.draw(width, height, this.#crowd.cells !== null || this.#labels.any, (context) => {
        this.#crowd.paint(context, camera, this.#colours);
        this.#labels.paint(context, camera, this.#colours);
      });
    };
  }

  #watchApp(): void {
    const { view, catalog, covered, frame, events, hello, marked, reused, scene } = this.#app;
    const stay = this.#placed; // where the address says, whatever it selects
    catalog.infos.bind(() => this.#placeOnce());
    catalog.listed.watch(() => {
      if (!this.#placed) this.#onSelect(view.value.selection);
    });
    // Let the panel be there before it is measured.
    covered.watch(() => requestAnimationFrame(() => this.#map.easeTo({ padding: this.#margins(), duration: 200 })));
    catalog.sets.bind((sets) => {
      this.#fences.show(sets);
      this.#hide(view.value);
      this.#placeOnce();
      this.#mark(view.value.selection);
      if (this.#awaited) this.#show(this.#awaited);
    });
    view.bind((now, before) => {
      if (now === before || now.hidden !== before.hidden || now.filter.set !== before.filter.set) this.#hide(now);
      this.#fences.setPlain(now.colouring === "fleet");
      if (now.colouring !== before.colouring && frame.value) this.#showFrame(frame.value);
      if (now.selection !== before.selection) this.#onSelect(now.selection);
    });
    this.#onSelect(view.value.selection, stay);
    frame.bind((f) => {
      if (f) this.#showFrame(f);
    });
    hello.watch(() => this.#overlay.resetHandles());
    scene.watch(() => this.#overlay.resetHandles());
    reused.watch((handles) => this.#overlay.forgetHandles(handles));
    marked.bind((mark) => {
      this.#overlay.marked = mark && [mercatorX(mark.lon), mercatorY(mark.lat)];
      this.#overlay.path = [];
      if (mark && this.#isSettled && !this.#map.getBounds().contains([mark.lon, mark.lat])) this.#glideTo(mark.lon, mark.lat);
      this.#overlay.schedule();
      if (!mark) return;
      void pathTo(mark, this.#app.trails, this.#app.hello.value?.history === true).then((path) => {
        if (marked.value !== mark) return;
        this.#overlay.path = path;
        this.#overlay.schedule();
      });
    });
    events.watch((list) => {
      for (const event of list) {
        const kind = eventKind(event);
        const { data } = event;
        if (!isChange(kind) || !matches(event, view.value.filter, (fleet, id) => this.#app.objects.find(fleet, id)?.state)) continue;
        if (data.fence) this.#fences.flash(data.set, data.fence.id, kindColour(kind) ?? "");
        if (!isCount(data)) this.#pulse(data.point.coordinates, kind);
      }
    });
  }

  #showFrame(frame: Frame): void {
    const { objects, fleets, view } = this.#app;
    const byFleet = view.value.colouring === "fleet";
    this.#overlay.show(frame, byFleet ? (slot) => fleets.colour(objects.fleetAt(slot)) : undefined);
    this.#crowd.cells = frame.cells;
    this.#labels.find();
    this.#updateTrail();
  }

  /** Draws the sets that are switched on; a filter by set leaves only that one. */
  #hide({ hidden, filter }: View): void {
    const others = [...this.#fences.sets.keys()].filter((name) => filter.set !== "" && name !== filter.set);
    this.#fences.setHidden([...hidden, ...others]);
    this.#labels.show(this.#fences.visible);
  }

  #pulse(point: [lon: number, lat: number], kind: string): void {
    if (!this.#map.getBounds().contains(point)) return;
    const { kinds, selection } = this.#colours.overlay;
    const colour = kindColour(kind);
    this.#overlay.pulse(...point, colour ? kinds[colour] : selection);
  }

  #recolour(): void {
    this.#colours = readColours();
    this.#map.setPaintProperty("paper", "background-color", this.#colours.paper);
    this.#fences.setColours(this.#colours);
    this.#overlay.setColours(this.#colours);
    this.#ground.setColours(this.#colours);
    this.#track?.recolour();
  }

  #tellScale(): void {
    const { lat } = this.#map.getCenter();
    this.#app.metresPerPixel.set((equator * Math.cos((lat * Math.PI) / 180)) / (tileSize * 2 ** this.#map.getZoom()));
  }

  #camera(): Camera {
    const zoom = this.#map.getZoom();
    const scale = tileSize * 2 ** zoom;
    const center = this.#map.getCenter();
    const at = this.#map.project(center);
    const { clientWidth: width, clientHeight: height } = this.#map.getContainer();
    return {
      width,
      height,
      zoom,
      scale,
      offsetX: at.x - mercatorX(center.lng) * scale,
      offsetY: at.y - mercatorY(center.lat) * scale,
    };
  }

  #sendViewSoon(): void {
    this.#viewTimer ??= window.setTimeout(() => this.#sendView(), viewEveryMs);
  }

  /** Asks for the positions of what is on the screen and a little around it, so that a small move shows no gap. */
  #sendView(): void {
    this.#viewTimer = undefined;
    const bounds = this.#map.getBounds();
    const [w, s, e, n] = [bounds.getWest(), bounds.getSouth(), bounds.getEast(), bounds.getNorth()];
    const dx = (e - w) * 0.05;
    const dy = (n - s) * 0.05;
    const box: Bounds = [Math.max(-180, w - dx), Math.max(-90, s - dy), Math.min(180, e + dx), Math.min(90, n + dy)];
    this.#app.connection.want({ view: box, cell: cellLevel(this.#map.getZoom()) });
    this.#app.bounds.set(box);
  }

  /** Whether the map may go to what is selected: it will not be placed by the sets then, or there is nothing of them to see. */
  get #isSettled(): boolean {
    return this.#placed || (this.#app.catalog.listed.value && this.#boundsOf() === null);
  }

  /** The first time that it is known where the sets are, the map goes there; later it stays where the viewer put it. */
  #placeOnce(): void {
    if (this.#placed) return;
    const box = this.#boundsOf();
    if (!box) return;
    this.#map.fitBounds(box, { padding: 24, animate: false });
    this.#placed = true;
    if (this.#app.view.value.selection) this.#onSelect(this.#app.view.value.selection);
  }

  #boundsOf(only?: string): Bounds | null {
    const { catalog, view } = this.#app;
    const wanted = catalog.infos.value.filter(({ name }) => (only ? name === only : !view.value.hidden.includes(name)));
    const boxes = wanted.map(({ name, bbox }) => bbox ?? union(catalog.sets.value.get(name)?.fences.map((f) => f.bounds) ?? []));
    return union(boxes.filter((box) => box !== null));
  }

  #mark(selection: Selection | null): void {
    const fence =
      selection?.kind === "fence" ? this.#app.catalog.fenceName(selection.set, selection.fence) : undefined;
    this.#fences.mark("selected", fence ?? null);
  }

  #onSelect(selection: Selection | null, stay = false): void {
    this.#mark(selection);
    this.#updateTrail();
    this.#labels.placeSoon();
    // An object in a crowd is drawn on its own only if the server is told which.
    const single = selection?.kind === "object" ? { fleet: selection.fleet, id: selection.id } : { fleet: "", id: "" };
    this.#app.connection.want({ single });
    this.#awaited = null;
    if (!stay && this.#isSettled && selection) this.#show(selection);
  }

  #show(selection: Selection): void {
    if (selection.kind === "fence") this.#showFence(selection);
    if (selection.kind === "object") void this.#showObject(selection);
  }

  #showFence(selection: Extract<Selection, { kind: "fence" }>): void {
    const box = this.#app.catalog.fence(selection.set, selection.fence)?.bounds;
    this.#awaited = box ? null : selection;
    if (!box) this.#app.catalog.meet(selection.set, selection.fence);
    if (!box || this.#showsWell(box)) return;
    this.#map.fitBounds(box, { padding: 60, maxZoom: 15, duration: 600 });
  }

  /** Whether the box is in the free part of the map and large enough to see. */
  #showsWell([w, s, e, n]: Bounds): boolean {
    const { left = 0, right = 0, top = 0, bottom = 0 } = this.#margins();
    const { clientWidth, clientHeight } = this.#map.getContainer();
    const a = this.#map.project([w, n]);
    const b = this.#map.project([e, s]);
    const within = a.x >= left && b.x <= clientWidth - right && a.y >= top && b.y <= clientHeight - bottom;
    return within && Math.max(b.x - a.x, b.y - a.y) > 24;
  }

  async #showObject(selection: Extract<Selection, { kind: "object" }>): Promise<void> {
    const { fleet, id } = selection;
    try {
      const known = this.#app.objects.find(fleet, id);
      if (!known && this.#app.past.active) return; // its track is shown once that has loaded
      const object = known ?? (await fetchObject(fleet, id));
      if (this.#app.view.value.selection === selection) this.#glideTo(object.lon, object.lat);
    } catch {
      // The details panel says that there is no such object.
    }
  }

  /** Moves the middle of the map to a point; its move ends before following begins. */
  #glideTo(lon: number, lat: number): void {
    this.#placed = true;
    const zoom = Math.max(this.#map.getZoom(), Math.min(objectZoom, this.#map.getMaxZoom()));
    this.#map.easeTo({ center: [lon, lat], zoom, padding: this.#margins(), duration: 600 });
  }

  #updateTrail(): void {
    const { selection } = this.#app.view.value;
    const { objects, trails } = this.#app;
    if (selection?.kind !== "object") {
      this.#overlay.selected = null;
      this.#overlay.trail = [];
    } else {
      this.#overlay.selected = objects.find(selection.fleet, selection.id) ? (objects.handle(selection.fleet, selection.id) ?? null) : null;
      this.#overlay.trail = trails.get(objectKey(selection.fleet, selection.id), objects.frame.t);
    }
    this.#overlay.schedule();
  }

  #follow(): void {
    if (!this.#app.following.value || this.#map.isMoving()) return;
    const place = this.#overlay.selectedPlace();
    if (!place) return;
    const center = this.#map.getCenter();
    const { scale } = this.#camera();
    const off = Math.hypot(place[0] - mercatorX(center.lng), place[1] - mercatorY(center.lat)) * scale;
    // A fraction of a pixel is not worth drawing the map again.
    if (off > 0.3) this.#map.jumpTo({ center: [longitude(place[0]), latitude(place[1])] });
  }

  fit(set?: string): void {
    const box = this.#boundsOf(set);
    this.#app.following.set(false);
    if (box) this.#map.fitBounds(box, { padding: 24, duration: 600 });
  }

  zoom(by: number): void {
    this.#placed = true;
    this.#map.easeTo({ zoom: this.#map.getZoom() + by, duration: 200 });
  }

  someFence(): Selection | null {
    const middle = this.#map.project(this.#map.getCenter());
    const fence = this.#fences.at(middle.x, middle.y)[0] ?? [...this.#fences.sets.values()][0]?.fences[0];
    return fence ? { kind: "fence", set: fence.set, fence: fence.key } : null;
  }

  someObject(): Selection | null {
    const { scale, offsetX, offsetY } = this.#camera();
    const middle = this.#map.project(this.#map.getCenter());
    let best: Selection | null = null;
    let nearest = Infinity;
    for (let i = 0; i < this.#app.objects.frame.count; i++) {
      const object = this.#app.objects.at(i);
      if (object?.state !== State.Moving || !(object.speed > 3)) continue;
      const [x, y] = this.#overlay.place(i);
      const distance = Math.hypot(x * scale + offsetX - middle.x, y * scale + offsetY - middle.y);
      if (distance < nearest) [best, nearest] = [{ kind: "object", fleet: object.fleet, id: object.id }, distance];
    }
    return best;
  }

  drawn(): DrawnObject[] {
    const { scale, offsetX, offsetY } = this.#camera();
    const drawn: DrawnObject[] = [];
    for (let i = 0; i < this.#app.objects.frame.count; i++) {
      const object = this.#app.objects.at(i);
      if (!object) continue;
      const [x, y] = this.#overlay.place(i);
      const { fleet, id } = object;
      drawn.push({ fleet, id, x: x * scale + offsetX, y: y * scale + offsetY, lon: longitude(x), lat: latitude(y) });
    }
    return drawn;
  }

  project(lon: number, lat: number): { x: number; y: number } {
    const { x, y } = this.#map.project([lon, lat]);
    return { x, y };
  }

  center(): readonly [lon: number, lat: number] {
    const { lng, lat } = this.#map.getCenter().wrap();
    return [lng, lat];
  }

  get gl(): GLMap {
    return this.#map;
  }

  statistics(): MapStatistics {
    return {
      labels: this.#labels.texts,
      crowd: this.#crowd.objects,
      cell: this.#crowd.largest && { x: this.#crowd.largest.x, y: this.#crowd.largest.y },
      path: this.#overlay.path.length,
      basemap: this.#ground.drawn,
      complete: this.#fences.complete && this.#map.areTilesLoaded(),
      fences: [...this.#fences.sets.values()].reduce((sum, { info }) => sum + info.fences, 0),
      mapDrawings: this.#drawings,
      overlayDrawings: this.#overlay.drawings,
    };
  }
}
