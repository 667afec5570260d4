// A page of a list and, beside it, the details of one item. Where there is no room for both, the details take the
// place of the list.

import { fill, h, icon, type Child } from "../dom";

export class Split {
  readonly element: HTMLElement;
  readonly list = h("div", { class: "split-list" });
  readonly #detail = h("div", { class: "split-detail", hidden: true });
  readonly #close: () => void;
  #key = "";

  /** Close is called by the button that closes the details; those of a new item have no address to leave. */
  constructor(close: () => void) {
    this.#close = () => {
      close();
      this.hide();
    };
    this.element = h("div", { class: "split" }, this.list, this.#detail);
  }

  /** The item whose details are shown, "" if none are. */
  get key(): string {
    return this.#key;
  }

  /** Shows details; those of another item get the focus. */
  show(key: string, kind: string, title: string, ...content: Child[]): void {
    // What replaces the details under the keyboard, such as after a change, gets it.
    const focus = key !== this.#key || this.#detail.contains(document.activeElement);
    const other = key !== this.#key;
    this.#key = key;
    const heading = h("h2", { tabindex: -1, id: "detail-title" }, title);
    const close = h("button", { type: "button", class: "icon-button", "aria-label": "Close", title: "Close (Esc)", onclick: this.#close }, icon("close"));
    const card = h(
      "section",
      { class: "card details-card", "aria-labelledby": "detail-title" },
      h("div", { class: "card-head" }, h("div", { class: "details-name" }, h("span", { class: "details-kind" }, kind), heading), close),
      ...content,
    );
    card.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      this.#close();
    });
    fill(this.#detail, card);
    this.#detail.hidden = false;
    this.element.classList.add("open");
    if (focus) heading.focus({ preventScroll: true });
    if (other && matchMedia("(max-width: 1099px)").matches) window.scrollTo({ top: 0 });
  }

  hide(): void {
    const key = this.#key;
    this.#key = "";
    this.#detail.replaceChildren();
    this.#detail.hidden = true;
    this.element.classList.remove("open");
    if (key === "") return;
    // The keyboard goes on where the details were opened.
    const link = [...this.list.querySelectorAll<HTMLElement>("[data-key]")].find((each) => each.dataset.key === key);
    (link ?? this.list.querySelector<HTMLElement>("a, button"))?.focus();
  }
}

/** A card with a heading, a count beside it, and actions at its end. */
export function card(title: string, actions: Child[], ...content: Child[]): { element: HTMLElement; count: HTMLElement } {
  const id = `${title.toLowerCase().replaceAll(" ", "-")}-title`;
  const count = h("span", { class: "count" });
  const head = h("div", { class: "card-head" }, h("h2", { id }, title), count, ...actions);
  return { element: h("section", { class: "card list-card", "aria-labelledby": id }, head, ...content), count };
}

/** A link of a list to the details of an item, which opens them in place. */
export function itemLink(key: string, href: string, text: string, open: () => void): HTMLElement {
  return h(
    "a",
    {
      href,
      "data-key": key,
      onclick: (event: MouseEvent) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        open();
      },
    },
    text,
  );
}
