// Vertices: a list of all points of a shape, for work by keyboard: arrow keys move the one that has the focus, Insert and
// Delete change the list, and its latitude and longitude can be typed. The first row stands for all of the shape.

import { h, setText } from "../dom";
import type { Editor } from "./editor";
import { textField, sameNumber, type Part } from "./fields";
import type { Input } from "./input";
import { chainsOf, placesOf, point, samePlace, vertexAt, type Place, type Shape } from "./shape";

/** A long list is shown in pieces. */
const shown = 40;

export function createVertices(editor: Editor, input: Input): Part {
  return new Vertices(editor, input);
}

class Vertices implements Part {
  readonly element: HTMLElement;
  readonly #editor: Editor;
  readonly #input: Input;
  readonly #list = h("ul", { class: "draw-vertices" });
  readonly #count = h("span", { class: "count" });
  readonly #range = h("p", { class: "note" });
  readonly #fields: Part[];
  readonly #typed = h("div", { class: "draw-pair" });
  readonly #rows: HTMLButtonElement[] = [];
  #places: readonly Place[] = [];
  #start = 0;
  #shape: Shape | null = null;

  constructor(editor: Editor, input: Input) {
    this.#editor = editor;
    this.#input = input;
    const field = (label: string, axis: 0 | 1): Part =>
      textField(
        {
          label,
          fault: "shape",
          inputMode: "decimal",
          value: () => this.#coordinate(axis),
          change: (text) => this.#type(axis, text),
          same: (a, b) => a === b || sameNumber(a, b),
        },
        () => [],
      );
    this.#fields = [field("Latitude", 1), field("Longitude", 0)];
    this.#typed.append(...this.#fields.map(({ element }) => element));
    const whole = h("button", { type: "button", class: "draw-vertex", onkeydown: (event: KeyboardEvent) => this.#wholeKey(event) }, "All of it", h("span", {}, "arrow keys move it"));
    this.element = h(
      "details",
      { class: "part draw-points" },
      h("summary", {}, "Points", this.#count),
      h("p", { class: "note" }, "Arrow keys move a point, with Shift further. Insert (or i) adds one, Delete removes one, Page Up and Page Down go round."),
      whole,
      this.#list,
      this.#range,
      this.#typed,
    );
  }

  update(): void {
    const { shape } = this.#editor.draft.value;
    const selected = this.#editor.selected.value;
    if (shape !== this.#shape) this.#places = shape ? placesOf(shape) : [];
    this.#shape = shape;
    setText(this.#count, String(this.#places.length));
    const at = this.#places.findIndex((place) => samePlace(place, selected));
    if (at >= 0 && (at < this.#start || at >= this.#start + shown)) this.#start = Math.floor(at / shown) * shown;
    if (this.#start >= this.#places.length) this.#start = 0;
    this.#fill(at);
    this.#typed.hidden = at < 0;
    for (const field of this.#fields) field.update();
  }

  #fill(selected: number): void {
    const focused = this.#rows.findIndex((row) => row === document.activeElement);
    const count = Math.min(shown, this.#places.length - this.#start);
    while (this.#rows.length > count) this.#rows.pop()!.parentElement!.remove();
    while (this.#rows.length < count) this.#add();
    for (const [i, row] of this.#rows.entries()) this.#describe(row, this.#start + i, this.#start + i === selected);
    const end = this.#start + count;
    this.#range.hidden = this.#places.length <= shown;
    setText(this.#range, `Points ${this.#start + 1} to ${end} of ${this.#places.length}; Page Down goes on.`);
    // The focus stays with the selected point, also when its row has gone or another one has come before it.
    if (focused >= 0 && selected >= 0 && focused !== selected - this.#start) this.#rows[selected - this.#start]?.focus();
  }

  #add(): void {
    const index = this.#rows.length;
    const row = h("button", {
      type: "button",
      class: "draw-vertex",
      onfocus: () => this.#select(this.#start + index),
      onclick: () => this.#select(this.#start + index),
      onkeydown: (event: KeyboardEvent) => this.#key(event, this.#start + index),
    }, h("span"), h("span"));
    this.#rows.push(row);
    this.#list.append(h("li", {}, row));
  }

  #describe(row: HTMLButtonElement, index: number, selected: boolean): void {
    const place = this.#places[index]!;
    const [lon, lat] = vertexAt(this.#shape!, place)!;
    setText(row.children[0]!, nameOf(this.#shape!, place));
    setText(row.children[1]!, `${lat.toFixed(5)}, ${lon.toFixed(5)}`);
    if (selected) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }

  #select(index: number): void {
    const place = this.#places[index];
    const at = place && this.#shape && vertexAt(this.#shape, place);
    if (!at) return;
    this.#editor.selected.set(place);
    this.#input.reveal(at);
  }

  #key(event: KeyboardEvent, index: number): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const place = this.#places[index];
    if (!place || !this.#input.editKey(event, place)) return;
    event.preventDefault();
    event.stopPropagation();
    const { selected, draft } = this.#editor;
    const at = selected.value && draft.value.shape && vertexAt(draft.value.shape, selected.value);
    if (at) this.#input.reveal(at);
  }

  #wholeKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.#input.nudge(event.key, event.shiftKey, null)) return;
    event.preventDefault();
  }

  #coordinate(axis: 0 | 1): string {
    const { selected } = this.#editor;
    const at = selected.value && this.#shape && vertexAt(this.#shape, selected.value);
    return at ? String(point(at[0], at[1])[axis]) : "";
  }

  #type(axis: 0 | 1, text: string): void {
    const { selected, draft } = this.#editor;
    const place = selected.value;
    const at = place && draft.value.shape && vertexAt(draft.value.shape, place);
    const value = Number(text);
    const most = axis === 0 ? 180 : 90;
    if (!at || text.trim() === "" || !(Math.abs(value) <= most)) return;
    this.#editor.move(place, axis === 0 ? point(value, at[1]) : point(at[0], value));
  }
}

function nameOf(shape: Shape, { part, ring, index }: Place): string {
  if (shape.kind === "circle") return "Centre";
  const parts = chainsOf(shape).length > 1 ? ` · part ${part + 1}` : "";
  const hole = ring > 0 ? ` · hole ${ring}` : "";
  return `${index + 1}${parts}${hole}`;
}
