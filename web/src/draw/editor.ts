// Editor: the state of one fence that is drawn or edited, and the changes that a person can make. It knows no map, no
// panel and no server.

import { Signal } from "../signal";
import { bodyOf, bufferOf, draftOf, emptyDraft, type Draft, type Row } from "./feature";
import { History } from "./history";
import { measures, metres } from "./measure";
import type { Stored } from "./requests";
import {
  addHole, chainsOf, fewest, insertVertex, middleBehind, moveAll, moveVertex, placesOf, removeVertex, samePlace, shapeOf, vertexAt,
  type Kind, type Place, type Point, type Shape,
} from "./shape";
import { faultsOf, idFor, radiusRange, type Fault } from "./validate";

/** Where a draft is to be stored. */
export interface Target {
  readonly set: string;
  /** The set does not exist yet. */
  readonly newSet: boolean;
  readonly id: string;
}

export class Editor {
  readonly draft: Signal<Draft>;
  readonly target: Signal<Target>;
  /** The vertex that keys and buttons change. */
  readonly selected = new Signal<Place | null>(null);
  /** Where the pointer, or the middle of the map, would place the next point. */
  readonly cursor = new Signal<Point | null>(null);
  /** Changes with each sentence for screen readers. */
  readonly said = new Signal("");
  /** What is here is being sent: no change is taken. */
  locked = false;
  readonly #taken: (set: string, id: string) => boolean;
  #history: History<Draft>;
  #initial: Draft;
  #initialTarget: Target;
  #stored: Stored | null = null;
  /** The shape that stands for the stored geometry. */
  #storedShape: Shape | null = null;
  /** A person has chosen the id; before that it follows the name. */
  #named = false;

  /** taken reports whether a set is known to have a fence of an id. */
  constructor(kind: Kind, set: string, taken: (set: string, id: string) => boolean) {
    this.#taken = taken;
    this.#initial = emptyDraft(kind);
    this.#history = new History(this.#initial, weightOf);
    this.draft = new Signal(this.#initial);
    this.#initialTarget = { set, newSet: set === "", id: this.#freeId(set, "", kind) };
    this.target = new Signal(this.#initialTarget);
  }

  /** The fence that is edited, as the server had it; null of a new one. */
  get stored(): Stored | null {
    return this.#stored;
  }

  get canUndo(): boolean {
    return this.#history.canUndo;
  }

  get canRedo(): boolean {
    return this.#history.canRedo;
  }

  /** Whether leaving would lose something. */
  get dirty(): boolean {
    if (this.draft.value !== this.#initial) return true;
    return this.#stored === null && this.draft.value.shape !== null && this.target.value !== this.#initialTarget;
  }

  get faults(): Fault[] {
    return faultsOf(this.draft.value, this.target.value);
  }

  /** What is to be sent. */
  get body(): string {
    const { feature } = this.#stored ?? {};
    return bodyOf(this.draft.value, feature ? { shape: this.#storedShape, geometry: feature.geometry } : null);
  }

  get buffer(): number | null {
    const { shape, drawing, kind } = this.draft.value;
    const line = shape?.kind === "line" || (drawing !== null && kind === "corridor");
    return line ? bufferOf(this.draft.value) : null;
  }

  /** The shape as far as it is drawn, with the cursor as its next point. */
  get preview(): Shape | null {
    const { drawing, kind, shape } = this.draft.value;
    if (!drawing) return shape;
    const points = this.cursor.value ? [...drawing.points, this.cursor.value] : drawing.points;
    return shapeOf(drawing.hole ? "polygon" : kind, points, metres);
  }

  /** Begins with a fence of the server; as a copy it becomes a new one beside it. */
  open(stored: Stored, copy = false): void {
    const draft = draftOf(stored.feature);
    this.#stored = copy ? null : stored;
    this.#storedShape = draft.shape;
    this.#named = !copy;
    const id = copy ? idFor(`${stored.id}-copy`, draft.kind, (wanted) => this.#taken(stored.set, wanted)) : stored.id;
    this.#initialTarget = { set: stored.set, newSet: false, id };
    this.target.set(this.#initialTarget);
    this.#begin(copy && draft.name !== "" ? { ...draft, name: `${draft.name} (copy)` } : draft);
    if (copy) this.#named = true;
  }

  /** Goes on with what is here as a new fence, under an id of its own unless the old one is free. */
  becomeNew(free: boolean): void {
    const { set, id } = this.target.value;
    this.#stored = null;
    this.#named = true;
    if (!free) this.target.update((target) => ({ ...target, id: idFor(`${id}-copy`, "fence", (wanted) => this.#taken(set, wanted)) }));
  }

  /** Takes over the kind to draw, as long as nothing has been placed. */
  choose(kind: Kind): void {
    const { drawing } = this.draft.value;
    if (this.draft.value.kind === kind || this.canUndo || !drawing || this.locked) return;
    this.#begin(emptyDraft(kind));
    this.#follow();
  }

  #begin(draft: Draft): void {
    this.#initial = draft;
    this.#history = new History(draft, weightOf);
    this.selected.set(null);
    this.cursor.set(null);
    this.draft.set(draft);
  }

  #push(change: Partial<Draft>, run = ""): void {
    if (this.locked) return;
    this.#history.push({ ...this.draft.value, ...change }, run);
    this.draft.set(this.#history.present);
  }

  /** Ends a run of small steps that undo takes back as one. */
  rest(): void {
    this.#history.rest();
  }

  undo(): void {
    if (!this.locked) this.#travel(this.#history.undo(), "Undone.");
  }

  redo(): void {
    if (!this.locked) this.#travel(this.#history.redo(), "Redone.");
  }

  #travel(draft: Draft, said: string): void {
    this.draft.set(draft);
    const { selected } = this;
    if (selected.value && !(draft.shape && vertexAt(draft.shape, selected.value))) selected.set(null);
    this.say(`${said} ${this.summary()}`);
  }

  say(text: string): void {
    this.said.set(""); // the same sentence again is news too
    this.said.set(text);
  }

  /** What the shape measures, in one line. */
  summary(): string {
    const { preview } = this;
    return preview ? measures(preview, this.buffer).map(([name, value]) => `${name} ${value}`).join(", ") : "";
  }

  // Drawing.

  /** Places the next point. A circle is complete with its second one. */
  place(at: Point): void {
    const { drawing, kind } = this.draft.value;
    if (!drawing) return;
    const points = [...drawing.points, at];
    this.#push({ drawing: { ...drawing, points } });
    if (kind === "circle" && !drawing.hole && points.length === 2) this.finish();
    else {
      const name = kind === "circle" && !drawing.hole ? "Centre" : `Point ${points.length}`;
      this.say(`${name} placed at ${at[1].toFixed(5)}, ${at[0].toFixed(5)}. ${points.length > 1 ? this.summary() : ""}`);
    }
  }

  /** Whether what has been placed is enough. */
  get complete(): boolean {
    const { drawing, kind } = this.draft.value;
    return drawing !== null && shapeOf(drawing.hole ? "polygon" : kind, drawing.points, metres) !== null;
  }

  finish(): void {
    const { drawing, kind, shape } = this.draft.value;
    if (!drawing || !this.complete) return;
    this.cursor.set(null);
    const hole = drawing.hole && shape;
    const drawn = hole ? addHole(shape, drawing.points) : shapeOf(kind, drawing.points, metres);
    this.#push({ drawing: null, shape: drawn });
    this.say(`${hole ? "The hole is cut." : "The drawing is finished."} ${this.summary()}`);
  }

  /** Begins a hole in the polygon. */
  cut(): void {
    if (this.draft.value.shape?.kind !== "polygon" || this.draft.value.drawing) return;
    this.selected.set(null);
    this.#push({ drawing: { points: [], hole: true } });
    this.say("Draw the hole.");
  }

  /** Ends a hole that is not finished; reports false if there is none. */
  abandonHole(): boolean {
    if (!this.draft.value.drawing?.hole) return false;
    this.cursor.set(null);
    this.#push({ drawing: null });
    this.say("No hole is cut.");
    return true;
  }

  // Editing. All of these leave a drawing that is not finished alone, and what is being sent.

  #change(shape: Shape, run = ""): void {
    if (shape !== this.draft.value.shape) this.#push({ shape }, run);
  }

  get #shape(): Shape | null {
    return this.draft.value.drawing || this.locked ? null : this.draft.value.shape;
  }

  move(place: Place, to: Point): void {
    if (this.#shape) this.#change(moveVertex(this.#shape, place, to), `move ${place.part} ${place.ring} ${place.index}`);
  }

  moveBy(lon: number, lat: number): void {
    if (this.#shape) this.#change(moveAll(this.#shape, lon, lat), "all");
  }

  /** Begins a drag of all of it from the shape as it is now: small steps would round again and again. */
  moveFrom(shape: Shape, lon: number, lat: number): void {
    if (this.#shape) this.#change(moveAll(shape, lon, lat), "all");
  }

  setRadius(radius: number, run = "radius"): void {
    if (this.#shape?.kind !== "circle" || !(radius > 0)) return;
    const bounded = Math.max(radiusRange.from, Math.min(radiusRange.to, radius));
    if (bounded !== this.#shape.radius) this.#change({ ...this.#shape, radius: bounded }, run);
  }

  /** Inserts a vertex behind one, at a point or in the middle to the next, and selects it. */
  insert(place: Place, at?: Point): void {
    const shape = this.#shape;
    // Behind the end of a line there is no middle: the vertex goes before it.
    const behind = shape && !at && !middleBehind(shape, place) ? { ...place, index: place.index - 1 } : place;
    const where = at ?? (shape ? middleBehind(shape, behind) : undefined);
    if (!shape || !where) return;
    this.#change(insertVertex(shape, behind, where));
    this.selected.set({ ...behind, index: behind.index + 1 });
    this.say(`A point is inserted. ${this.summary()}`);
  }

  remove(place: Place): void {
    const shape = this.#shape;
    if (!shape) return;
    const left = removeVertex(shape, place);
    if (left === shape) {
      this.say(shape.kind === "circle" ? "A circle keeps its centre." : `It needs ${shape.kind === "polygon" ? "three corners" : "two points"} at least.`);
      return;
    }
    this.#change(left);
    this.selected.set(vertexAt(left, place) ? place : (placesOf(left).at(-1) ?? null));
    this.say(`A point is removed. ${this.summary()}`);
  }

  /** Selects the vertex so many places on, round and round. */
  step(by: number): void {
    const shape = this.#shape;
    if (!shape) return;
    const places = placesOf(shape);
    const now = places.findIndex((place) => samePlace(place, this.selected.value));
    const next = now < 0 ? (by > 0 ? 0 : places.length - 1) : (now + by + places.length) % places.length;
    this.selected.set(places[next] ?? null);
  }

  // Fields.

  setName(name: string): void {
    this.#push({ name }, "name");
    this.#follow();
  }

  setSetting(name: string, text: string): void {
    this.#push({ settings: { ...this.draft.value.settings, [name]: text } }, `setting ${name}`);
  }

  setRow(index: number, row: Partial<Row>): void {
    const { rows } = this.draft.value;
    const changed = rows.map((old, i) => (i === index ? { ...old, ...row } : old));
    this.#push({ rows: changed }, `row ${index} ${Object.keys(row).join()}`);
  }

  addRow(): void {
    this.#push({ rows: [...this.draft.value.rows, { name: "", value: "" }] });
  }

  removeRow(index: number): void {
    this.#push({ rows: this.draft.value.rows.toSpliced(index, 1) });
  }

  setTarget(change: Partial<Target>): void {
    if (this.locked) return;
    if (change.id !== undefined) this.#named = true;
    this.target.update((target) => ({ ...target, ...change }));
    this.#follow();
  }

  /** The new set has been made. */
  setMade(): void {
    this.target.update((target) => ({ ...target, newSet: false }));
  }

  /** The id follows name, kind and set until a person has chosen one. */
  #follow(): void {
    if (this.#named || this.#stored || this.locked) return;
    const { set } = this.target.value;
    const { name, kind } = this.draft.value;
    const id = this.#freeId(set, name, kind);
    if (id !== this.target.value.id) this.target.update((target) => ({ ...target, id }));
  }

  #freeId(set: string, name: string, kind: Kind): string {
    return idFor(name, kind, (id) => this.#taken(set, id));
  }
}

/** The vertices of a draft. */
function weightOf({ shape, drawing }: Draft): number {
  const chains = shape ? chainsOf(shape).flat() : [];
  return chains.reduce((sum, chain) => sum + chain.length, drawing?.points.length ?? 0);
}

/** The next step of a drawing, as a sentence. */
export function hintOf({ kind, drawing, shape }: Draft): string {
  if (!drawing) {
    return shape?.kind === "circle" ? "Drag the middle to move it, the rim to size it." : "Drag a point to move it, a dot between two to add one.";
  }
  const { length } = drawing.points;
  if (drawing.hole) return length < fewest.polygon ? "Place the corners of the hole." : "Go on, or close the hole at its first corner.";
  if (kind === "circle") return length === 0 ? "Place the centre." : "Place a point of the rim.";
  if (kind === "polygon") {
    return length === 0 ? "Place the first corner." : length < fewest.polygon ? "Place the next corner." : "Go on, or close it at the first corner.";
  }
  return length === 0 ? "Place the first point." : length < fewest.line ? "Place the next point." : "Go on, or end it at the last point.";
}
