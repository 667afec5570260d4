// Overlay: objects, trail, halo and pulses, on a canvas of its own above the map.
//
// Its own canvas, because positions change five times a second and objects glide at every frame while the fences
// below stand still. With 5,000 objects over 2,000 fences, drawn in software, this gave 9 frames a second where a layer
// within the map gave 3 and a GeoJSON source 2, at 40, 30 and 200 ms of the page's thread a second. While the map itself
// moves it asks for a drawing from within its own, so that both move as one.

import { emptyFrame, type Frame } from "../live/frame";
import type { TrailPoint } from "../model/trails";
import type { MapColours, RGB } from "./colours";
import { calm } from "./flashes";
import { Pass } from "./gl";
import { mercatorX, mercatorY } from "./mercator";
import { floatsPerObject, Motion, type Tint } from "./motion";
import { objectFragment, objectVertex, ringFragment, ringVertex, stripFragment, stripVertex } from "./shaders";

/** How the map lies on the screen: Mercator times scale plus offset is CSS pixels. North is up. */
export interface Camera {
  width: number;
  height: number;
  zoom: number;
  scale: number;
  offsetX: number;
  offsetY: number;
}

interface Pulse {
  x: number;
  y: number;
  colour: RGB;
  start: number;
}

const pulseSeconds = 0.9;
/** Pulses alone are drawn at half the screen's rate: where there is always one, the page rests half of the time. */
const pulseFrameMs = 28;
/** Past this many at once there are no more: a flood of events is not made of more rings. */
const maxPulses = 16;
/** Pixels around an object that still hit it: little for a mouse, or no fence could be hit in a busy city. */
const reachOfMouse = 3;
const reachOfFinger = 11;

export class Overlay {
  readonly canvas: HTMLCanvasElement;
  /** The selected object's handle, its trail ending with where it is. */
  selected: number | null = null;
  /** Where the selected event happened, in Mercator. */
  marked: [x: number, y: number] | null = null;
  trail: TrailPoint[] = [];
  /** The path to the marked place, oldest first. */
  path: readonly { lon: number; lat: number }[] = [];
  /** Called after each drawing. */
  afterDraw: ((camera: Camera) => void) | undefined;
  /** Called before each drawing; true asks for another one right after. */
  beforeDraw: ((now: number) => void) | undefined;
  readonly #gl: WebGL2RenderingContext;
  readonly #camera: () => Camera;
  readonly #motion = new Motion();
  readonly #coarse = matchMedia("(pointer: coarse)");
  #passes!: { objects: Pass; rings: Pass; strip: Pass };
  #colours: MapColours;
  #frame: Frame = emptyFrame();
  #pulses: Pulse[] = [];
  #uploaded = false;
  #scheduled = false;
  #pulseTimer: number | undefined;
  #drawn = 0;

  constructor(canvas: HTMLCanvasElement, colours: MapColours, camera: () => Camera) {
    this.canvas = canvas;
    this.#colours = colours;
    this.#camera = camera;
    const gl = canvas.getContext("webgl2", { alpha: true, antialias: false, depth: false, premultipliedAlpha: true });
    if (!gl) throw new Error("WebGL 2 is not available");
    this.#gl = gl;
    this.#build();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => this.#build());
  }

  #build(): void {
    const gl = this.#gl;
    this.#passes = {
      objects: new Pass(gl, objectVertex, objectFragment, [4, 4, 1]),
      rings: new Pass(gl, ringVertex, ringFragment, [4, 4]),
      strip: new Pass(gl, stripVertex, stripFragment, [2, 4]),
    };
    this.#uploaded = false;
    this.schedule();
  }

  setColours(colours: MapColours): void {
    this.#colours = colours;
    this.schedule();
  }

  show(frame: Frame, tint?: Tint): void {
    const camera = this.#camera();
    this.#frame = frame;
    this.#motion.show(frame, seconds(), !frame.still && !calm.matches && camera.zoom >= glideFromZoom, tint);
    this.#uploaded = false;
    this.schedule();
  }

  resetHandles(): void {
    this.#motion.reset();
  }

  /** These handles stand for other objects from now on. */
  forgetHandles(handles: readonly number[]): void {
    this.#motion.forget(handles);
  }

  pulse(lon: number, lat: number, colour: RGB): void {
    if (calm.matches) return;
    if (this.#pulses.length >= maxPulses) return;
    this.#pulses.push({ x: mercatorX(lon), y: mercatorY(lat), colour, start: seconds() });
    this.schedule();
  }

  /** The place in the frame of the object nearest to a point in CSS pixels, or -1 if none is within reach. */
  pick(x: number, y: number): number {
    const { scale, offsetX, offsetY } = this.#camera();
    const now = seconds();
    const reach = sizeAt(this.#camera().zoom) / 2 + (this.#coarse.matches ? reachOfFinger : reachOfMouse);
    let best = -1;
    let nearest = reach * reach;
    for (let i = 0; i < this.#motion.count; i++) {
      const [mx, my] = this.#motion.at(i, now);
      const dx = mx * scale + offsetX - x;
      const dy = my * scale + offsetY - y;
      const distance = dx * dx + dy * dy;
      if (distance <= nearest) [best, nearest] = [i, distance];
    }
    return best;
  }

  /** Where the i-th object of the frame is drawn now, in Mercator. */
  place(i: number): [x: number, y: number] {
    return this.#motion.at(i, seconds());
  }

  /** Where the selected object is drawn now, in Mercator; null if it is not in view. */
  selectedPlace(): [x: number, y: number] | null {
    const i = this.selected === null ? -1 : this.#frame.handles.indexOf(this.selected);
    return i < 0 || i >= this.#motion.count ? null : this.#motion.at(i, seconds());
  }

  get drawings(): number {
    return this.#drawn;
  }

  schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.beforeDraw?.(seconds());
      this.draw();
    });
  }

  draw(): void {
    const gl = this.#gl;
    if (gl.isContextLost()) return;
    const camera = this.#camera();
    const ratio = this.#resize(camera);
    const now = seconds();
    this.#drawn++;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.#drawTrail(camera, ratio);
    this.#drawRings(camera, ratio, now);
    this.#drawObjects(camera, ratio, now);
    this.afterDraw?.(camera);
    if (now < this.#motion.settled && camera.zoom >= glideFromZoom) this.schedule();
    else if (this.#pulses.length > 0) this.#pulseTimer ??= window.setTimeout(() => this.#nextPulse(), pulseFrameMs);
  }

  #nextPulse(): void {
    this.#pulseTimer = undefined;
    this.schedule();
  }

  #resize({ width, height }: Camera): number {
    const ratio = window.devicePixelRatio || 1;
    const w = Math.round(width * ratio);
    const h = Math.round(height * ratio);
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
    }
    return ratio;
  }

  #drawObjects(camera: Camera, ratio: number, now: number): void {
    const { objects } = this.#passes;
    const motion = this.#motion;
    if (motion.count === 0) return;
    if (!this.#uploaded) {
      objects.upload(motion.buffer, motion.count * floatsPerObject);
      this.#uploaded = true;
    }
    const gl = this.#gl;
    const { moving, dwelling, silent, outline, palette } = this.#colours.overlay;
    objects.use();
    gl.uniform2f(objects.at("u_viewport"), this.canvas.width, this.canvas.height);
    gl.uniform2f(
      objects.at("u_offset"),
      (motion.originX * camera.scale + camera.offsetX) * ratio,
      (motion.originY * camera.scale + camera.offsetY) * ratio,
    );
    gl.uniform1f(objects.at("u_scale"), camera.scale * ratio);
    gl.uniform1f(objects.at("u_now"), now - motion.epoch);
    gl.uniform1f(objects.at("u_size"), sizeAt(camera.zoom) * ratio);
    gl.uniform3fv(objects.at("u_colours"), [...moving, ...dwelling, ...silent, ...moving]);
    gl.uniform3fv(objects.at("u_palette"), palette.flat());
    gl.uniform3fv(objects.at("u_outline"), outline);
    gl.uniform1f(objects.at("u_outlineWidth"), Math.min(1.4, sizeAt(camera.zoom) * 0.12) * ratio);
    gl.drawArrays(gl.POINTS, 0, motion.count);
  }

  #drawRings(camera: Camera, ratio: number, now: number): void {
    const rings: number[] = [];
    const add = (x: number, y: number, radius: number, width: number, [r, g, b]: RGB, alpha: number): void => {
      const px = (x * camera.scale + camera.offsetX) * ratio;
      const py = (y * camera.scale + camera.offsetY) * ratio;
      rings.push(px, py, radius * ratio, width * ratio, r * alpha, g * alpha, b * alpha, alpha);
    };
    const size = sizeAt(camera.zoom);
    this.#pulses = this.#pulses.filter(({ start }) => now - start < pulseSeconds);
    for (const { x, y, colour, start } of this.#pulses) {
      const share = (now - start) / pulseSeconds;
      const eased = 1 - (1 - share) ** 3;
      add(x, y, size * 0.4 + eased * (size * 0.6 + 8), 1.6, colour, (1 - share) * 0.85);
    }
    const place = this.selectedPlace();
    if (place) {
      add(...place, size * 0.5 + 6, 2, this.#colours.overlay.selection, 1);
      add(...place, size * 0.25 + 3, size * 0.5 + 6, this.#colours.overlay.selection, 0.16);
    }
    if (this.marked) {
      add(...this.marked, 9, 2, this.#colours.overlay.selection, 1);
      add(...this.marked, 5, 10, this.#colours.overlay.selection, 0.2);
    }
    if (rings.length === 0) return;
    const gl = this.#gl;
    const pass = this.#passes.rings;
    pass.upload(new Float32Array(rings), rings.length);
    pass.use();
    gl.uniform2f(pass.at("u_viewport"), this.canvas.width, this.canvas.height);
    gl.drawArrays(gl.POINTS, 0, rings.length / 8);
  }

  #drawTrail(camera: Camera, ratio: number): void {
    const head = this.selectedPlace();
    const points = toMercator(this.trail);
    if (head) points.push(head);
    this.#drawLine(points, camera, ratio);
    this.#drawLine(toMercator(this.path), camera, ratio);
  }

  #drawLine(points: [x: number, y: number][], camera: Camera, ratio: number): void {
    if (points.length < 2) return;
    const strip = ribbon(
      points.map(([x, y]) => [(x * camera.scale + camera.offsetX) * ratio, (y * camera.scale + camera.offsetY) * ratio]),
      2 * ratio,
      this.#colours.overlay.selection,
    );
    const gl = this.#gl;
    const pass = this.#passes.strip;
    pass.upload(strip, strip.length);
    pass.use();
    gl.uniform2f(pass.at("u_viewport"), this.canvas.width, this.canvas.height);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, strip.length / 6);
  }
}

function toMercator(points: readonly { lon: number; lat: number }[]): [x: number, y: number][] {
  return points.map(({ lon, lat }) => [mercatorX(lon), mercatorY(lat)]);
}

/** Below this a step of a fast vehicle is less than a pixel: gliding would cost invisible drawings. */
const glideFromZoom = 12.5;

/** An object's size in CSS pixels. */
export function sizeAt(zoom: number): number {
  const stops: [zoom: number, size: number][] = [
    [8, 3.5],
    [9, 4.5],
    [10, 7],
    [11, 8.5],
    [12, 11],
    [14, 16],
    [17, 24],
  ];
  const next = stops.findIndex(([z]) => z >= zoom);
  if (next === 0) return stops[0]![1];
  if (next < 0) return stops.at(-1)![1];
  const [z0, s0] = stops[next - 1]!;
  const [z1, s1] = stops[next]!;
  return s0 + ((s1 - s0) * (zoom - z0)) / (z1 - z0);
}

/** A line as a strip of triangles: half as wide as `half` says to each side, fading out towards its beginning. */
export function ribbon(points: [number, number][], half: number, [r, g, b]: RGB): Float32Array {
  const strip = new Float32Array(points.length * 12);
  for (const [i, [x, y]] of points.entries()) {
    const [x0, y0] = points[Math.max(0, i - 1)]!;
    const [x1, y1] = points[Math.min(points.length - 1, i + 1)]!;
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    const nx = (-(y1 - y0) / length) * half;
    const ny = ((x1 - x0) / length) * half;
    const alpha = 0.9 * (i / (points.length - 1));
    strip.set([x + nx, y + ny, r * alpha, g * alpha, b * alpha, alpha], i * 12);
    strip.set([x - nx, y - ny, r * alpha, g * alpha, b * alpha, alpha], i * 12 + 6);
  }
  return strip;
}

function seconds(): number {
  return performance.now() / 1000;
}
