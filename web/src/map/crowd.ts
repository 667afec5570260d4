// Crowd: the cells of a frame as discs, the larger the more objects are in them, with their numbers where these fit. An arc
// tells the share that is silent.

import type { Cells } from "../live/frame";
import { formatCompact } from "../format";
import type { MapColours } from "./colours";
import { mercatorX, mercatorY } from "./mercator";
import type { Camera } from "./overlay";

/** The side of a cell in CSS pixels: the largest disc fills three quarters of it. */
const cellPixels = 64;
const tileSize = 512;
const smallest = 4;
const largest = 23;
/** A disc as large as this has room for its number. */
const numbered = 12.5;

/** The level of cells for a zoom: docs/reference/live.md. */
export function cellLevel(zoom: number): number {
  return Math.max(0, Math.min(28, Math.round(zoom + Math.log2(tileSize / cellPixels))));
}

export interface Disc {
  x: number;
  y: number;
  radius: number;
  objects: number;
  silent: number;
}

/** The discs on the screen, the largest first. Their areas are as the numbers of objects, but for very small ones. */
export function discs(cells: Cells, { width, height, scale, offsetX, offsetY }: Camera): Disc[] {
  let most = 1;
  for (let i = 0; i < cells.count; i++) most = Math.max(most, cells.objects[i]!);
  const all: Disc[] = [];
  for (let i = 0; i < cells.count; i++) {
    const x = mercatorX(cells.lon[i]!) * scale + offsetX;
    const y = mercatorY(cells.lat[i]!) * scale + offsetY;
    if (x < -largest || y < -largest || x > width + largest || y > height + largest) continue;
    const objects = cells.objects[i]!;
    const radius = Math.max(smallest, largest * Math.sqrt(objects / most));
    all.push({ x, y, radius, objects, silent: cells.silent[i]! });
  }
  return all.sort((a, b) => b.radius - a.radius);
}

export class Crowd {
  cells: Cells | null = null;
  #discs: Disc[] = [];

  /** How many objects the cells hold. */
  get objects(): number {
    return this.cells?.objects.reduce((sum, n) => sum + n, 0) ?? 0;
  }

  /** The largest disc, as it was drawn last. */
  get largest(): Disc | null {
    return this.#discs[0] ?? null;
  }

  /** The disc at a point, as it was drawn last. */
  at(x: number, y: number): Disc | null {
    // A small disc lies above a large one.
    return this.#discs.findLast((disc) => Math.hypot(disc.x - x, disc.y - y) <= disc.radius + 2) ?? null;
  }

  paint(context: CanvasRenderingContext2D, camera: Camera, { crowd, halo }: MapColours): void {
    this.#discs = this.cells ? discs(this.cells, camera) : [];
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const { x, y, radius, objects, silent } of this.#discs) {
      circle(context, x, y, radius + 1.25, halo, 0.9);
      circle(context, x, y, radius, crowd.disc, 0.82);
      if (silent > 0) arc(context, x, y, radius - 1, silent / objects, crowd.silent);
      if (radius < numbered) continue;
      context.font = `600 ${Math.max(10, Math.min(12, Math.round(radius * 0.7)))}px ${fontFamily()}`;
      context.fillStyle = crowd.text;
      context.fillText(formatCompact(objects), x, y + 0.5);
    }
  }
}

function circle(context: CanvasRenderingContext2D, x: number, y: number, radius: number, colour: string, alpha: number): void {
  context.globalAlpha = alpha;
  context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
  context.globalAlpha = 1;
}

/** A share of the circle from the top, clockwise. */
function arc(context: CanvasRenderingContext2D, x: number, y: number, radius: number, share: number, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 2.5;
  context.beginPath();
  context.arc(x, y, radius, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * Math.max(0.03, share));
  context.stroke();
}

let family = "";

/** The page's font. */
export function fontFamily(): string {
  family ||= getComputedStyle(document.body).fontFamily;
  return family;
}
