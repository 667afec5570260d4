// Canvas: draws the draft above the map, with what can be taken hold of, what the server has found, and a cross in the
// middle for drawing by keyboard.

import type { Map as GLMap } from "maplibre-gl";
import { h } from "../dom";
import { Signal } from "../signal";
import type { Editor } from "./editor";
import { handlesOf, type PlacedHandle } from "./handles";
import { ringOf } from "./measure";
import type { Saving } from "./saving";
import type { Screen, Spot } from "./screen";
import { chainsOf, samePlace, type Chain, type Shape } from "./shape";
import { draftOf } from "./feature";

interface Palette {
  accent: string;
  card: string;
  ink: string;
  faint: string;
  alert: string;
  font: string;
}

export class Canvas {
  readonly element = h("canvas", { class: "draw-canvas", "aria-hidden": "true" });
  /** Vertices in view that are too many to have handles; 0: they have. */
  readonly tooMany = new Signal(0);
  /** Whether the next point goes to the middle of the map. */
  readonly crosshair = new Signal(false);
  /** The handles of the last drawing. */
  handles: readonly PlacedHandle[] = [];
  readonly #editor: Editor;
  readonly #saving: Saving;
  readonly #screen: Screen;
  readonly #context: CanvasRenderingContext2D;
  readonly #ended = new AbortController();
  #palette: Palette;
  #scheduled = false;

  constructor(map: GLMap, screen: Screen, editor: Editor, saving: Saving) {
    this.#editor = editor;
    this.#saving = saving;
    this.#screen = screen;
    this.#context = this.element.getContext("2d")!;
    map.getContainer().parentElement!.append(this.element);
    this.#palette = readPalette(this.element);
    const redraw = (): void => this.draw();
    map.on("render", redraw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.#palette = readPalette(this.element);
      this.schedule();
    }, { signal: this.#ended.signal });
    const unwatch = [editor.draft, editor.selected, editor.cursor, saving.findings, saving.conflict, this.crosshair].map((signal) =>
      (signal as Signal<unknown>).watch(() => this.schedule()),
    );
    this.#ended.signal.addEventListener("abort", () => {
      map.off("render", redraw);
      for (const end of unwatch) end();
      this.element.remove();
    });
    this.draw();
  }

  stop(): void {
    this.#ended.abort();
  }

  schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      if (!this.#ended.signal.aborted) this.draw();
    });
  }

  draw(): void {
    const { element } = this;
    const screen = this.#screen;
    const ratio = devicePixelRatio;
    screen.update();
    const [width, height] = [Math.round(screen.width * ratio), Math.round(screen.height * ratio)];
    if (element.width !== width || element.height !== height) [element.width, element.height] = [width, height];
    const context = this.#context;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, screen.width, screen.height);
    context.lineJoin = context.lineCap = "round";
    const { drawing, shape } = this.#editor.draft.value;
    const { theirs } = this.#saving.conflict.value ?? {};
    const other = theirs ? draftOf(theirs.feature).shape : null;
    if (other) this.#outline(other, this.#palette.ink, [2, 5], 1.5);
    if (shape) this.#shape(shape);
    if (drawing) this.#drawing(drawing.points);
    this.#handles(drawing ? null : shape);
    for (const { at } of this.#saving.findings.value) if (at) this.#finding(screen.spot(at));
    if (this.crosshair.value) this.#cross(screen.middle());
  }

  #path(chain: Chain, closed: boolean): void {
    const context = this.#context;
    for (const [i, vertex] of chain.entries()) {
      const { x, y } = this.#screen.spot(vertex);
      if (i === 0) context.moveTo(x, y);
      else context.lineTo(x, y);
    }
    if (closed) context.closePath();
  }

  #trace(shape: Shape): void {
    this.#context.beginPath();
    if (shape.kind === "circle") this.#path(ringOf(shape.centre, shape.radius), true);
    else for (const chain of chainsOf(shape).flat()) this.#path(chain, shape.kind === "polygon");
  }

  #outline(shape: Shape, colour: string, dash: number[], width: number): void {
    const context = this.#context;
    this.#trace(shape);
    context.setLineDash(dash);
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
    context.setLineDash([]);
  }

  #shape(shape: Shape): void {
    const context = this.#context;
    const { buffer } = this.#editor;
    if (shape.kind === "line") {
      if (buffer !== null) this.#corridor(shape, buffer);
    } else {
      this.#trace(shape);
      context.globalAlpha = 0.14;
      context.fillStyle = this.#palette.accent;
      context.fill("evenodd");
      context.globalAlpha = 1;
    }
    // Paper around the line keeps it apart from the borders below.
    this.#outline(shape, this.#palette.card, [], 4.5);
    this.#outline(shape, this.#palette.accent, [], 2);
  }

  /** One stroke as wide as the corridor: where it meets itself it is no darker. */
  #corridor(shape: Shape, buffer: number): void {
    const context = this.#context;
    const lat = chainsOf(shape)[0]?.[0]?.[0]?.[1] ?? 0;
    this.#trace(shape);
    context.lineWidth = Math.max(1, 2 * this.#screen.pixels(buffer, lat));
    context.globalAlpha = 0.16;
    context.strokeStyle = this.#palette.accent;
    context.stroke();
    context.globalAlpha = 1;
  }

  /** What has been placed, and dashed how it would go on. */
  #drawing(points: Chain): void {
    const { kind, drawing } = this.#editor.draft.value;
    const { preview, cursor } = this.#editor;
    const { accent } = this.#palette;
    const context = this.#context;
    const outlined = kind === "circle" || kind === "polygon" || drawing?.hole;
    if (preview && outlined) {
      this.#trace(preview);
      context.globalAlpha = 0.12;
      context.fillStyle = accent;
      context.fill();
      context.globalAlpha = 1;
      this.#outline(preview, accent, [5, 5], 1.5);
    } else if (preview) {
      if (this.#editor.buffer !== null) this.#corridor(preview, this.#editor.buffer);
      this.#outline(preview, accent, [5, 5], 1.5);
    } else if (points.length > 0 && cursor.value) {
      this.#outline({ kind: "line", parts: [[[...points, cursor.value]]] }, accent, [5, 5], 1.5);
    }
    if (points.length > 1) {
      this.#outline({ kind: "line", parts: [[points]] }, this.#palette.card, [], 4.5);
      this.#outline({ kind: "line", parts: [[points]] }, accent, [], 2);
    }
    for (const [i, vertex] of points.entries()) {
      const ends = this.#editor.complete && (outlined ? i === 0 : i === points.length - 1);
      this.#dot(this.#screen.spot(vertex), ends ? 7 : 5, this.#palette.card, accent);
    }
    if (cursor.value && points.length > 0 && !this.crosshair.value) this.#label(this.#screen.spot(cursor.value), this.#editor.summary());
  }

  #dot({ x, y }: Spot, radius: number, fill: string, stroke: string): void {
    const context = this.#context;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = fill;
    context.fill();
    context.lineWidth = 2;
    context.strokeStyle = stroke;
    context.stroke();
  }

  #handles(shape: Shape | null): void {
    const { selected } = this.#editor;
    const { handles, tooMany } = shape ? handlesOf(shape, this.#screen, selected.value) : { handles: [], tooMany: 0 };
    this.handles = handles;
    this.tooMany.set(tooMany);
    const { accent, card } = this.#palette;
    for (const { handle, spot } of handles) {
      if (handle.kind === "middle") this.#dot(spot, 3, card, this.#palette.faint);
      else if (handle.kind === "all") this.#grip(spot);
      else if (handle.kind === "vertex" && samePlace(handle.place, selected.value)) this.#dot(spot, 7, accent, card);
      else this.#dot(spot, 5, card, accent);
    }
  }

  /** A disc with a cross of arrows. */
  #grip({ x, y }: Spot): void {
    const context = this.#context;
    this.#dot({ x, y }, 10, this.#palette.card, this.#palette.accent);
    context.lineWidth = 1.5;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]] as const) {
      const [tipX, tipY] = [x + dx * 6, y + dy * 6];
      context.moveTo(x, y);
      context.lineTo(tipX, tipY);
      context.moveTo(tipX - dx * 2 + dy * 2, tipY - dy * 2 + dx * 2);
      context.lineTo(tipX, tipY);
      context.lineTo(tipX - dx * 2 - dy * 2, tipY - dy * 2 - dx * 2);
    }
    context.stroke();
  }

  #finding({ x, y }: Spot): void {
    const context = this.#context;
    const { alert, card } = this.#palette;
    context.globalAlpha = 0.2;
    this.#dot({ x, y }, 15, alert, "transparent");
    context.globalAlpha = 1;
    this.#dot({ x, y }, 8, alert, card);
    context.fillStyle = card;
    context.font = `700 11px ${this.#palette.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText("!", x, y + 0.5);
  }

  #cross({ x, y }: Spot): void {
    const context = this.#context;
    for (const [colour, width] of [[this.#palette.card, 4], [this.#palette.accent, 1.75]] as const) {
      context.beginPath();
      for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]] as const) {
        context.moveTo(x + dx * 5, y + dy * 5);
        context.lineTo(x + dx * 17, y + dy * 17);
      }
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    }
  }

  #label({ x, y }: Spot, text: string): void {
    if (text === "") return;
    const context = this.#context;
    const { card, ink } = this.#palette;
    context.font = `500 12px ${this.#palette.font}`;
    const width = context.measureText(text).width + 16;
    const left = Math.min(x + 14, this.#screen.width - width - 8);
    context.beginPath();
    context.roundRect(left, y + 14, width, 24, 7);
    context.fillStyle = card;
    context.fill();
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillStyle = ink;
    context.fillText(text, left + 8, y + 26.5);
  }
}

function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  return { accent: colour("--accent"), card: colour("--card"), ink: colour("--ink"), faint: colour("--ink-3"), alert: colour("--alert"), font: style.fontFamily };
}
