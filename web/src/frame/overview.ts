// Parts of the pages of services: cards of tables, and the field that finds rows.

import { h, icon } from "../dom";
import { formatCount } from "../format";

/** A card with a heading, of which the count can change. */
export function overviewCard(title: string, ...content: Node[]): { element: HTMLElement; count: HTMLElement } {
  const id = `${title.toLowerCase().replaceAll(" ", "-")}-title`;
  const count = h("span", { class: "count" });
  const box = h("section", { class: "card overview-card", "aria-labelledby": id }, h("div", { class: "card-head" }, h("h2", { id }, title), count), ...content);
  return { element: box, count };
}

/** The field that finds names; its text is in the address too. setFind is called with each other text than "" at first. */
export function createFind(label: string, setFind: (find: string) => void): HTMLElement {
  let last = "";
  const tell = (find: string): void => {
    if (find === last) return;
    last = find;
    setFind(find);
  };
  const input = h("input", { type: "search", placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: "false", maxlength: 200 });
  input.value = new URLSearchParams(location.search).get("find") ?? "";
  tell(input.value.trim());
  input.addEventListener("input", () => {
    const find = input.value.trim();
    history.replaceState(null, "", location.pathname + (find === "" ? "" : `?find=${encodeURIComponent(find)}`));
    tell(find);
  });
  return h("search", { class: "search card" }, h("label", {}, icon("search"), input));
}

/** "7", or "the first 100 of 1,234". */
export function countText(shown: number, all: number): string {
  return shown < all ? `the first ${formatCount(shown)} of ${formatCount(all)}` : formatCount(all);
}
