// The layout: two columns beside the map on a wide screen; on a narrow one the columns are sheets that slide over the
// map from below, one at a time, and the details are a sheet too.

import type { App } from "../app";
import { h, icon } from "../dom";
import { sameSelection } from "../view";

type Sheet = "left" | "right" | "";

const narrow = matchMedia("(max-width: 799px)");

export class Layout {
  readonly #app: App;
  readonly #page: HTMLElement;
  readonly #buttons = new Map<Sheet, HTMLButtonElement>();

  constructor(app: App, page: HTMLElement, tabs: HTMLElement) {
    this.#app = app;
    this.#page = page;
    tabs.append(this.#tab("left", "layers", "Sets"), this.#tab("right", "list", "Events"));
    const onSelect = (): void => {
      const { selection } = app.view.value;
      page.classList.toggle("has-details", selection !== null);
      if (selection) this.open("left");
      else if (this.#page.dataset.sheet === "left") this.open("");
    };
    app.view.watch((now, before) => {
      if (!sameSelection(now.selection, before.selection)) onSelect();
    });
    app.editing.watch((on) => {
      page.classList.toggle("editing", on);
      this.open(on ? "left" : "");
    });
    app.feedWanted.watch(() => this.open("right"));
    if (app.view.value.selection) onSelect();
  }

  /** Slides a sheet over the map, or the open one away; without effect on a wide screen. */
  open(sheet: Sheet): void {
    if (narrow.matches && this.#page.dataset.sheet !== sheet) this.#app.covered.update((n) => n + 1);
    this.#page.dataset.sheet = sheet;
    for (const [name, button] of this.#buttons) button.setAttribute("aria-expanded", String(name === sheet));
  }

  /**
   * How much of the map the bar, the columns or the sheet cover, in CSS pixels. On a wide screen details make the left
   * column wider; that does not count, or the map would jump with each click.
   */
  margins(): { left: number; right: number; top: number; bottom: number } {
    const rect = (selector: string): DOMRect => this.#page.querySelector(selector)!.getBoundingClientRect();
    const height = window.innerHeight;
    const top = rect(".bar").bottom;
    if (narrow.matches) {
      const sheet = this.#page.dataset.sheet ? 0.55 * height : 0;
      return { left: 0, right: 0, top, bottom: Math.max(sheet, height - rect(".past").top) };
    }
    const gap = rect(".left").left;
    const left = gap + parseFloat(getComputedStyle(this.#page).getPropertyValue("--left"));
    const greeting = rect(".greeting");
    const playback = rect(".past");
    const bottom = Math.max(greeting.height > 0 ? height - greeting.top : gap, playback.height > 0 ? height - playback.top : gap);
    return { left, right: window.innerWidth - rect(".right").left, top, bottom };
  }

  #toggle(sheet: Sheet): void {
    const details = sheet === "left" && this.#app.view.value.selection !== null;
    // The details lie where the sets are: the button first gives way to those.
    if (details) this.#app.select(null);
    this.open(this.#page.dataset.sheet === sheet && !details ? "" : sheet);
  }

  #tab(sheet: Sheet, iconName: "layers" | "list", label: string): HTMLButtonElement {
    const button = h(
      "button",
      {
        type: "button",
        "aria-expanded": "false",
        "aria-controls": sheet,
        onclick: () => this.#toggle(sheet),
      },
      icon(iconName),
      label,
    );
    this.#buttons.set(sheet, button);
    return button;
  }
}
