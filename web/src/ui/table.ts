// Table: rows of text that change in place. Whatever a cell says is text, never markup.

import { fillKeyed, h, setText } from "../dom";
import { inOrder } from "../model/order";

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
  /** By what the rows can be ordered; null is unknown, and last. */
  order?: (row: T) => number | string | null;
}

export class Table<T> {
  readonly element: HTMLElement;
  readonly #columns: readonly Column<T>[];
  readonly #key: (row: T) => string;
  readonly #body = h("tbody");
  readonly #cells = new Map<string, HTMLElement[]>();
  readonly #heads: HTMLElement[];
  #rows: readonly T[] = [];
  #sort = "";

  /** A table that stacks shows each row as a block on a phone. */
  constructor(caption: string, columns: readonly Column<T>[], key: (row: T) => string, stacks = false) {
    this.#columns = columns;
    this.#key = key;
    this.#heads = columns.map(({ name, title, number }) => h("th", { scope: "col", class: number ? "number" : undefined, title }, name));
    this.element = h(
      "div",
      { class: stacks ? "table-box stacks" : "table-box", tabindex: 0, role: "region", "aria-label": caption },
      h("table", {}, h("caption", { class: "visually-hidden" }, caption), h("thead", {}, h("tr", {}, ...this.#heads)), this.#body),
    );
  }

  /** Makes buttons of the heads of columns with an order. Sort is as "rate", or "-rate" for the largest first; tell gets the user's choice. */
  sorts(sort: string, tell: (sort: string) => void): void {
    this.element.classList.add("sorts");
    this.#columns.forEach(({ name, order }, i) => {
      if (!order) return;
      const by = name.toLowerCase();
      const press = (): void => {
        this.order(this.#sort === by ? `-${by}` : by);
        this.show(this.#rows);
        tell(this.#sort);
      };
      this.#heads[i]!.replaceChildren(h("button", { type: "button", class: "sort", onclick: press }, name));
    });
    this.order(sort);
  }

  /** Sets the order of the next rows. */
  order(sort: string): void {
    this.#sort = sort;
    this.#columns.forEach(({ name, order }, i) => {
      const by = name.toLowerCase();
      if (order) this.#heads[i]!.ariaSort = sort === by ? "ascending" : sort === `-${by}` ? "descending" : "none";
    });
  }

  show(given: readonly T[]): void {
    this.#rows = given;
    const by = this.#columns.find(({ name }) => name.toLowerCase() === this.#sort.replace(/^-/, ""))?.order;
    const rows = by ? inOrder(given, by, this.#sort.startsWith("-")) : given;
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
