// Table: rows of text that change in place. Whatever a cell says is text, never markup.

import { fillKeyed, h, setText } from "../dom";

export interface Column<T> {
  name: string;
  title?: string;
  /** Long text: on a phone it has a line of its own. */
  wide?: boolean;
  /** Numbers are on the right, of even width. */
  number?: boolean;
  /** What the cell says, and what it says in full when the pointer rests on it. */
  text?: (row: T) => string;
  hint?: (row: T) => string;
  /** The state that its colour tells beside the word. */
  state?: (row: T) => string;
  /** In place of text: an element that stays as long as the row. */
  element?: (row: T) => HTMLElement;
}

export class Table<T> {
  readonly element: HTMLElement;
  readonly #columns: readonly Column<T>[];
  readonly #key: (row: T) => string;
  readonly #body = h("tbody");
  readonly #cells = new Map<string, HTMLElement[]>();

  /** A table that stacks shows each row as a block on a phone. */
  constructor(caption: string, columns: readonly Column<T>[], key: (row: T) => string, stacks = false) {
    this.#columns = columns;
    this.#key = key;
    const heads = columns.map(({ name, title, number }) => h("th", { scope: "col", class: number ? "number" : undefined, title }, name));
    this.element = h(
      "div",
      { class: stacks ? "table-box stacks" : "table-box", tabindex: 0, role: "region", "aria-label": caption },
      h("table", {}, h("caption", { class: "visually-hidden" }, caption), h("thead", {}, h("tr", {}, ...heads)), this.#body),
    );
  }

  show(rows: readonly T[]): void {
    fillKeyed(this.#body, rows, this.#key, (row) => this.#create(row));
    const present = new Set<string>();
    for (const row of rows) {
      const key = this.#key(row);
      present.add(key);
      this.#write(row, this.#cells.get(key)!);
    }
    for (const key of this.#cells.keys()) if (!present.has(key)) this.#cells.delete(key);
    this.element.hidden = rows.length === 0;
  }

  /** Marks the row whose details are shown; "" is none. */
  mark(key: string): void {
    for (const [each, [first]] of this.#cells) {
      const row = first?.parentElement;
      if (each === key) row?.setAttribute("aria-current", "true");
      else row?.removeAttribute("aria-current");
    }
  }

  #create(row: T): HTMLElement {
    const cells = this.#columns.map(({ name, number, wide, element }, i) =>
      h(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : undefined, class: number ? "number" : wide ? "wide" : undefined, "data-label": name }, element?.(row)),
    );
    this.#cells.set(this.#key(row), cells);
    return h("tr", {}, ...cells);
  }

  #write(row: T, cells: readonly HTMLElement[]): void {
    this.#columns.forEach(({ text, hint, state }, i) => {
      const cell = cells[i]!;
      if (text) setText(cell, text(row));
      if (hint) cell.title = hint(row);
      if (state) cell.dataset.state = state(row);
    });
  }
}
