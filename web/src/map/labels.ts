// MapLabels: the names of fences and objects on the map, where there is room. They are placed a few times a second and
// drawn with each drawing of the objects, so that a label stays at its object.

import type { App } from "../app";
import { labelPoint, type LabelPoint } from "../model/labelpoint";
import { Placement, type Candidate, type Label } from "../model/labels";
import type { FenceInfo, FenceSet } from "../model/sets";
import type { MapColours } from "./colours";
import { fontFamily } from "./crowd";
import { mercatorX, mercatorY } from "./mercator";
import { sizeAt, type Camera, type Overlay } from "./overlay";

const mostFences = 40;
const mostObjects = 60;
/** Where more objects are in view, only the selected one has a label. */
const objectsWithRoom = 250;
const objectsFromZoom = 12;
const placeEveryMs = 250;
const textHeight = 13;
const longestText = 28;

interface Named {
  fence: FenceInfo;
  colour: number;
  point: LabelPoint;
}

export class MapLabels {
  readonly #app: App;
  readonly #overlay: Overlay;
  readonly #points = new WeakMap<FenceInfo, LabelPoint | null>();
  readonly #widths = new Map<string, number>();
  #named: Named[] = [];
  #fences: Label[] = [];
  #objects: Label[] = [];
  /** By key of a label. */
  #places = new Map<string, { x: number; y: number; colour: number }>();
  #slots = new Map<string, number>();
  #placed = 0;
  #stale = true;
  #timer: number | undefined;

  constructor(app: App, overlay: Overlay) {
    this.#app = app;
    this.#overlay = overlay;
  }

  get texts(): string[] {
    return [...this.#fences, ...this.#objects].map(({ text }) => text);
  }

  /** Takes the fences that may be named: those of the shown sets, larger ones first. */
  show(sets: Iterable<FenceSet>): void {
    this.#named = [];
    for (const set of sets) {
      for (const [i, fence] of set.fences.entries()) {
        let point = this.#points.get(fence);
        if (point === undefined) {
          const geometry = typeof set.drawn === "string" ? null : set.drawn.features[i]?.geometry;
          point = geometry ? labelPoint(geometry) : null;
          this.#points.set(fence, point);
        }
        if (point) this.#named.push({ fence, colour: set.colour, point });
      }
    }
    this.#named.sort((a, b) => b.point.width - a.point.width);
    this.placeSoon();
  }

  /** Places the labels anew, now or a little later. */
  placeSoon(): void {
    if (this.#timer !== undefined) return;
    const wait = Math.max(0, this.#placed + placeEveryMs - performance.now());
    this.#timer = window.setTimeout(() => {
      this.#timer = undefined;
      this.#placed = performance.now();
      this.#overlay.schedule();
      this.#stale = true;
    }, wait);
  }

  get any(): boolean {
    return this.#stale || this.#fences.length + this.#objects.length > 0;
  }

  paint(context: CanvasRenderingContext2D, camera: Camera, colours: MapColours): void {
    context.font = `500 11px ${fontFamily()}`;
    if (this.#stale) this.#place(context, camera);
    this.#stale = false;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 3;
    context.strokeStyle = colours.halo;
    const plain = this.#app.view.value.colouring === "fleet";
    for (const label of this.#fences) {
      const at = this.#places.get(label.key)!;
      context.fillStyle = plain ? colours.plain.name : (colours.names[at.colour] ?? colours.ink);
      write(context, label, at.x * camera.scale + camera.offsetX, at.y * camera.scale + camera.offsetY);
    }
    context.fillStyle = colours.ink;
    for (const label of this.#objects) {
      const slot = this.#slots.get(label.key);
      if (slot === undefined) continue;
      const [x, y] = this.#overlay.place(slot);
      write(context, label, x * camera.scale + camera.offsetX, y * camera.scale + camera.offsetY);
    }
  }

  /** A new frame: its objects have other places in it. */
  find(): void {
    const { objects } = this.#app;
    this.#slots = new Map();
    if (this.#objects.length > 0) {
      const wanted = new Set(this.#objects.map(({ key }) => key));
      for (let i = 0; i < objects.frame.count; i++) {
        const name = objects.name(objects.frame.handles[i]!);
        if (name && wanted.has(name.key)) this.#slots.set(name.key, i);
      }
    }
    this.placeSoon();
  }

  #place(context: CanvasRenderingContext2D, camera: Camera): void {
    const placement = new Placement(camera.width, camera.height);
    const before = new Set([...this.#fences, ...this.#objects].map(({ key }) => key));
    const objects = this.#objectCandidates(context, camera);
    if (objects.length > 1 || this.#app.objects.frame.count <= objectsWithRoom) {
      for (const { x, y } of objects) placement.take(x, y, sizeAt(camera.zoom) / 2);
    }
    this.#fences = placement.place(this.#fenceCandidates(context, camera), mostFences, before);
    this.#objects = placement.place(objects, mostObjects, before);
  }

  #fenceCandidates(context: CanvasRenderingContext2D, camera: Camera): Candidate[] {
    const { scale, offsetX, offsetY, width, height } = camera;
    const candidates: Candidate[] = [];
    const places = new Map<string, { x: number; y: number; colour: number }>();
    for (const { fence, colour, point } of this.#named) {
      if (candidates.length >= 4 * mostFences) break;
      const room = (point.width / 360) * scale;
      if (room < 24) break; // those after it are narrower
      const [mx, my] = [mercatorX(point.lon), mercatorY(point.lat)];
      const [x, y] = [mx * scale + offsetX, my * scale + offsetY];
      if (x < 0 || y < 0 || x > width || y > height) continue;
      const text = shorten(fence.label);
      const wide = this.#widthOf(context, text);
      if (wide + 6 > room || (point.height / 360) * scale < textHeight + 6) continue;
      const key = `${fence.set}/${fence.key}`;
      places.set(key, { x: mx, y: my, colour });
      candidates.push({ key, text, x, y, width: wide, height: textHeight, beside: null });
    }
    this.#places = places;
    return candidates;
  }

  /** The selected object, and if there are few all others. */
  #objectCandidates(context: CanvasRenderingContext2D, camera: Camera): Candidate[] {
    const { objects, view } = this.#app;
    const { frame } = objects;
    const { selection } = view.value;
    const selected = selection?.kind === "object" ? selection : null;
    const all = frame.count <= objectsWithRoom && camera.zoom >= objectsFromZoom;
    this.#slots = new Map();
    if (!all && !selected) return [];
    const candidates: Candidate[] = [];
    for (let i = 0; i < frame.count; i++) {
      const name = objects.name(frame.handles[i]!);
      if (!name) continue;
      const isSelected = selected !== null && name.id === selected.id && name.fleet === selected.fleet;
      if (!all && !isSelected) continue;
      const [mx, my] = this.#overlay.place(i);
      const [x, y] = [mx * camera.scale + camera.offsetX, my * camera.scale + camera.offsetY];
      if (x < 0 || y < 0 || x > camera.width || y > camera.height) continue;
      const text = shorten(name.id);
      this.#slots.set(name.key, i);
      const beside = sizeAt(camera.zoom) / 2 + (isSelected ? 10 : 3);
      const candidate = { key: name.key, text, x, y, width: this.#widthOf(context, text), height: textHeight, beside };
      if (isSelected) candidates.unshift(candidate);
      else candidates.push(candidate);
    }
    return candidates;
  }

  #widthOf(context: CanvasRenderingContext2D, text: string): number {
    let width = this.#widths.get(text);
    if (width === undefined) {
      if (this.#widths.size > 5_000) this.#widths.clear();
      width = context.measureText(text).width;
      this.#widths.set(text, width);
    }
    return width;
  }
}

function write(context: CanvasRenderingContext2D, { text, dx, dy }: Label, x: number, y: number): void {
  context.strokeText(text, x + dx, y + dy);
  context.fillText(text, x + dx, y + dy);
}

function shorten(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText - 1)}…`;
}
