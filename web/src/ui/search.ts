// Search: one field for objects and fences, as an ARIA combobox with a list of results.

import { fetchObjects, findFences } from "../api";
import type { App } from "../app";
import { fill, h, icon } from "../dom";
import { nameAlone, searchFences, type FenceName } from "../model/sets";
import type { ObjectName } from "../model/objects";
import type { Selection } from "../view";

const perKind = 6;
/** Waits this long after the last key before it asks the server. */
const askAfterMs = 150;

/** Large sets of which the server is asked at once. */
const searchedSets = 4;

type FenceHit = Pick<FenceName, "set" | "key" | "label">;

interface Hit {
  selection: Selection;
  label: string;
  detail: string;
  colour?: number;
}

export class Search {
  readonly element: HTMLElement;
  readonly #app: App;
  readonly #input: HTMLInputElement;
  readonly #list = h("ul", { class: "hits", id: "hits", role: "listbox", "aria-label": "Found", hidden: true });
  #hits: Hit[] = [];
  #active = -1;
  #request: AbortController | undefined;
  #timer: number | undefined;

  constructor(app: App) {
    this.#app = app;
    this.#input = h("input", {
      type: "search",
      placeholder: "Find an object or fence",
      "aria-label": "Find an object or fence",
      role: "combobox",
      "aria-expanded": "false",
      "aria-controls": "hits",
      "aria-autocomplete": "list",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.#changed(),
      onkeydown: (event: KeyboardEvent) => this.#key(event),
      onblur: () => this.#close(),
      onfocus: () => this.#changed(),
    });
    this.element = h(
      "search",
      { class: "search card" },
      h("label", {}, icon("search"), this.#input, h("kbd", { "aria-hidden": "true" }, "/")),
      this.#list,
    );
    // A click on a hit must not take the focus away, which would close the list before the click is one.
    this.#list.addEventListener("mousedown", (event) => event.preventDefault());
  }

  focus(): void {
    this.#input.focus();
    this.#input.select();
  }

  #changed(): void {
    clearTimeout(this.#timer);
    this.#request?.abort();
    const text = this.#input.value.trim();
    if (text === "") {
      this.#close();
      return;
    }
    this.#show(text, this.#app.objects.search(text, perKind));
    this.#timer = window.setTimeout(() => void this.#ask(text), askAfterMs);
  }

  /** Objects out of view and fences of large sets are known to the server only. */
  async #ask(text: string): Promise<void> {
    const request = new AbortController();
    this.#request = request;
    try {
      const large = [...this.#app.catalog.sets.value.values()].filter((set) => typeof set.drawn === "string").slice(0, searchedSets);
      const [{ objects }, ...found] = await Promise.all([
        fetchObjects({ prefix: text, limit: perKind }, request.signal),
        ...large.map(({ info }) => findFences(info.name, text, perKind, request.signal).catch(() => [])),
      ]);
      const fences = found.flatMap((list, i) =>
        list.map(({ id, properties }): FenceHit => ({ set: large[i]!.info.name, key: id, label: nameAlone(id, properties) })),
      );
      const inView = this.#app.objects.search(text, perKind);
      const all = new Map([...objects, ...inView].map(({ fleet, id }) => [`${fleet}/${id}`, { fleet, id }]));
      this.#show(text, [...all.values()].slice(0, perKind), fences);
    } catch {
      // Aborted by the next key, or offline: the results in view have been shown.
    }
  }

  #show(text: string, objects: ObjectName[], further: FenceHit[] = []): void {
    if (document.activeElement !== this.#input || this.#input.value.trim() !== text) return;
    const known = searchFences(this.#app.catalog.sets.value.values(), text, perKind);
    const met = new Set(known.map(({ set, key }) => `${set}/${key}`));
    const fences: FenceHit[] = [...known, ...further.filter(({ set, key }) => !met.has(`${set}/${key}`))].slice(0, perKind);
    this.#hits = [
      ...objects.map(({ fleet, id }): Hit => ({ selection: { kind: "object", fleet, id }, label: id, detail: fleet })),
      ...fences.map(
        ({ set, key, label }): Hit => ({
          selection: { kind: "fence", set, fence: key },
          label,
          detail: set,
          colour: this.#app.catalog.colour(set),
        }),
      ),
    ];
    this.#active = this.#hits.length > 0 ? 0 : -1;
    this.#draw();
  }

  #draw(): void {
    const rows = this.#hits.map((hit, i) =>
      h(
        "li",
        {
          id: `hit-${i}`,
          role: "option",
          "aria-selected": i === this.#active ? "true" : "false",
          "data-kind": hit.selection.kind,
          "data-colour": hit.colour,
          onclick: () => this.#choose(hit),
        },
        h("i", { "aria-hidden": "true" }),
        h("span", { class: "hit-label" }, hit.label),
        h("span", { class: "hit-detail" }, hit.detail),
      ),
    );
    if (rows.length === 0) rows.push(h("li", { class: "nothing", role: "option", "aria-disabled": "true", "aria-selected": "false" }, "Nothing found"));
    fill(this.#list, ...rows);
    this.#list.hidden = false;
    this.#input.setAttribute("aria-expanded", "true");
    if (this.#active >= 0) this.#input.setAttribute("aria-activedescendant", `hit-${this.#active}`);
    else this.#input.removeAttribute("aria-activedescendant");
  }

  #key(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && this.#hits.length > 0) {
      event.preventDefault();
      this.#active = (this.#active + step + this.#hits.length) % this.#hits.length;
      this.#draw();
    } else if (event.key === "Enter") {
      const hit = this.#hits[this.#active];
      if (hit) this.#choose(hit);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      this.#input.value = "";
      this.#close();
      this.#input.blur();
    }
  }

  #choose(hit: Hit): void {
    this.#app.select(hit.selection);
    this.#input.value = "";
    this.#close();
    this.#input.blur();
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#request?.abort();
    this.#hits = [];
    this.#active = -1;
    this.#list.hidden = true;
    this.#input.setAttribute("aria-expanded", "false");
    this.#input.removeAttribute("aria-activedescendant");
  }
}
