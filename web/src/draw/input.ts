// Input: pointers and keys on the map, while a fence is drawn or edited.

import type { Map as GLMap, MapMouseEvent } from "maplibre-gl";
import type { Canvas } from "./canvas";
import type { Editor } from "./editor";
import { hit, meets, type Handle } from "./handles";
import { metres } from "./measure";
import type { Screen, Spot } from "./screen";
import { vertexAt, type Place, type Point, type Shape } from "./shape";

/** CSS pixels for each press of an arrow key: of what is moved, and of the map in crosshair mode. */
const nudge = { plain: 2, shift: 20 };
const pan = { plain: 20, shift: 100 };

const arrows: Record<string, [x: number, y: number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** What the map is to a screen reader meanwhile. */
const keysOfMap =
  "Map on which a fence is drawn. While drawing, arrow keys move the map below a cross, Enter places a point, Backspace takes it back. " +
  "Afterwards Page Down goes to a point, arrow keys move it, Insert adds one, Delete removes it.";

interface Drag {
  handle: Handle;
  /** The shape, and the point under the pointer, when it began. */
  shape: Shape;
  from: Point;
}

export class Input {
  readonly #map: GLMap;
  readonly #screen: Screen;
  readonly #editor: Editor;
  readonly #canvas: Canvas;
  readonly #ended = new AbortController();
  #drag: Drag | null = null;
  /** The last press took hold of a handle: its click is no click on the map. */
  #held = false;
  #finger = false;

  constructor(map: GLMap, screen: Screen, editor: Editor, canvas: Canvas) {
    this.#map = map;
    this.#screen = screen;
    this.#editor = editor;
    this.#canvas = canvas;
    const { signal } = this.#ended;
    const container = map.getContainer();
    const doubleClick = map.doubleClickZoom.isEnabled();
    map.doubleClickZoom.disable();
    const click = (event: MapMouseEvent): void => this.#click(event.point);
    const move = (event: MapMouseEvent): void => this.#hover(event.point);
    const leave = (): void => this.#leave();
    const moved = (): void => this.#moved();
    map.on("click", click);
    map.on("mousemove", move);
    map.on("mouseout", leave);
    map.on("move", moved);
    container.addEventListener("pointerdown", (event) => this.#press(event), { capture: true, signal });
    // The map must not pan when a handle is held.
    for (const type of ["mousedown", "touchstart"]) {
      container.addEventListener(type, (event) => this.#held && event.stopPropagation(), { capture: true, signal });
    }
    addEventListener("pointermove", (event) => this.#pull(event), { signal });
    for (const type of ["pointerup", "pointercancel"]) addEventListener(type, () => this.#release(), { signal });
    const canvasElement = map.getCanvas();
    const label = canvasElement.getAttribute("aria-label") ?? "";
    canvasElement.setAttribute("aria-label", keysOfMap);
    canvasElement.addEventListener("keydown", (event) => this.#key(event), { capture: true, signal });
    canvasElement.addEventListener("blur", () => this.#keyboard(false), { signal });
    signal.addEventListener("abort", () => {
      map.off("click", click);
      map.off("mousemove", move);
      map.off("mouseout", leave);
      map.off("move", moved);
      if (doubleClick) map.doubleClickZoom.enable();
      canvasElement.style.cursor = "";
      canvasElement.setAttribute("aria-label", label);
    });
  }

  stop(): void {
    this.#ended.abort();
  }

  /** Gives the map the focus, and the next point to its middle. */
  useKeyboard(): void {
    this.#map.getCanvas().focus({ preventScroll: true });
    this.#keyboard(this.#editor.draft.value.drawing !== null);
  }

  #keyboard(on: boolean): void {
    this.#canvas.crosshair.set(on);
    this.#editor.cursor.set(on ? this.#screen.point(this.#screen.middle()) : null);
  }

  /** Moves a vertex, or all of it (null), by so many arrow presses. Reports whether the key was an arrow. */
  nudge(key: string, shift: boolean, place: Place | null): boolean {
    const arrow = arrows[key];
    const { shape } = this.#editor.draft.value;
    if (!arrow || !shape || this.#editor.locked) return false;
    const from = place && vertexAt(shape, place);
    this.#screen.update();
    const start = from ?? this.#screen.point(this.#screen.middle());
    const step = shift ? nudge.shift : nudge.plain;
    const spot = this.#screen.spot(start);
    const to = this.#screen.point({ x: spot.x + arrow[0] * step, y: spot.y + arrow[1] * step });
    if (place && from) {
      this.#editor.move(place, to);
      this.#editor.say(`Moved to ${to[1].toFixed(5)}, ${to[0].toFixed(5)}. ${this.#editor.summary()}`);
    } else this.#editor.moveBy(to[0] - start[0], to[1] - start[1]);
    return true;
  }

  /** Moves the map if a point is out of sight. */
  reveal(at: Point): void {
    this.#screen.update();
    if (!this.#screen.within(this.#screen.spot(at), -40)) this.#map.easeTo({ center: [at[0], at[1]], duration: 250 });
  }

  #spotOf(event: PointerEvent): Spot {
    const box = this.#map.getContainer().getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  #press(event: PointerEvent): void {
    this.#finger = event.pointerType === "touch";
    this.#held = false;
    if (!event.isPrimary || event.button !== 0 || this.#editor.draft.value.drawing || this.#editor.locked) return;
    const at = this.#spotOf(event);
    const handle = hit(this.#canvas.handles, at, this.#finger);
    if (!handle) return;
    this.#held = true;
    this.#take(handle, at);
  }

  #take(handle: Handle, at: Spot): void {
    const editor = this.#editor;
    if (handle.kind === "middle") {
      editor.insert(handle.place);
      handle = { kind: "vertex", place: editor.selected.value ?? handle.place };
    }
    editor.rest();
    editor.selected.set(handle.kind === "vertex" ? handle.place : null);
    const { shape } = editor.draft.value;
    if (shape) this.#drag = { handle, shape, from: this.#screen.point(at) };
  }

  #pull(event: PointerEvent): void {
    const drag = this.#drag;
    if (!drag || !event.isPrimary) return;
    const to = this.#screen.point(this.#spotOf(event));
    if (drag.handle.kind === "vertex") this.#editor.move(drag.handle.place, to);
    else if (drag.handle.kind === "rim" && drag.shape.kind === "circle") this.#editor.setRadius(metres(drag.shape.centre, to));
    else this.#editor.moveFrom(drag.shape, to[0] - drag.from[0], to[1] - drag.from[1]);
    this.#cursor("grabbing");
  }

  #release(): void {
    if (!this.#drag) return;
    this.#drag = null;
    this.#editor.rest();
    this.#cursor("");
    this.#editor.say(this.#editor.summary());
  }

  #click(at: Spot): void {
    if (this.#held) return;
    this.#screen.update();
    if (this.#editor.draft.value.drawing) this.#place(at);
    else this.#editor.selected.set(null);
  }

  /** Places a point, or ends the drawing at the point that closes it. */
  #place(at: Spot): void {
    const editor = this.#editor;
    const { drawing, kind } = editor.draft.value;
    if (!drawing) return;
    const { points } = drawing;
    const meetsPoint = (p: Point | undefined): boolean => p !== undefined && meets(this.#screen.spot(p), at, this.#finger);
    const closed = kind === "polygon" || drawing.hole;
    if (editor.complete && (meetsPoint(points.at(-1)) || (closed && meetsPoint(points[0])))) editor.finish();
    else if (!meetsPoint(points.at(-1))) editor.place(this.#screen.point(at));
  }

  #hover(at: Spot): void {
    if (this.#drag) return;
    this.#screen.update();
    if (this.#editor.draft.value.drawing) {
      this.#canvas.crosshair.set(false);
      this.#editor.cursor.set(this.#screen.point(at));
      this.#cursor("crosshair");
      return;
    }
    const handle = hit(this.#canvas.handles, at, false);
    this.#cursor(handle === null ? "" : handle.kind === "middle" ? "copy" : "grab");
  }

  #leave(): void {
    if (!this.#canvas.crosshair.value) this.#editor.cursor.set(null);
  }

  #moved(): void {
    if (!this.#canvas.crosshair.value) return;
    this.#screen.update();
    this.#editor.cursor.set(this.#screen.point(this.#screen.middle()));
  }

  #cursor(cursor: string): void {
    this.#map.getCanvas().style.cursor = cursor;
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const done = this.#editor.draft.value.drawing ? this.#drawKey(event) : this.editKey(event, this.#editor.selected.value);
    if (!done) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The crosshair's keys: arrows move the map below it, Enter places a point, Backspace takes the last one back. */
  #drawKey({ key, shiftKey }: KeyboardEvent): boolean {
    const arrow = arrows[key];
    if (arrow) {
      this.#keyboard(true);
      const step = shiftKey ? pan.shift : pan.plain;
      this.#map.panBy([arrow[0] * step, arrow[1] * step], { animate: false });
    } else if (key === "Enter" || key === " ") {
      if (this.#canvas.crosshair.value) this.#place(this.#screen.middle());
      this.#keyboard(this.#editor.draft.value.drawing !== null);
    } else if (key === "Backspace") {
      if ((this.#editor.draft.value.drawing?.points.length ?? 0) > 0) this.#editor.undo();
    } else return false;
    return true;
  }

  /** The keys of a vertex, on the map and in the list. */
  editKey({ key, shiftKey }: Pick<KeyboardEvent, "key" | "shiftKey">, place: Place | null): boolean {
    const editor = this.#editor;
    if (key === "PageDown" || key === "PageUp") editor.step(key === "PageDown" ? 1 : -1);
    else if (!place) return false;
    else if (key === "Insert" || key === "i") editor.insert(place);
    else if (key === "Delete" || key === "Backspace") editor.remove(place);
    else return this.nudge(key, shiftKey, place);
    return true;
  }
}
