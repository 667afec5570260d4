// The navigation: a list of links at the side of a page, and the same list behind a button where there is no room.

import { h, icon } from "../dom";
import { presentPages } from "./pages";

const menuId = "menu";

/** The links to all pages; the present one is marked. */
export function createLinks(current: string): HTMLElement {
  const links = presentPages(document.documentElement.dataset.pages).map(({ name, label, icon: sign, first }) =>
    h(
      "li",
      { class: first ? "nav-first" : undefined },
      h("a", { href: `./${name}`, "aria-current": name === current ? "page" : undefined }, icon(sign), label),
    ),
  );
  return h("ul", { class: "nav" }, ...links);
}

/** A button, and the menu that it opens. Escape and a click elsewhere close it; the arrow keys walk in it. */
export function createMenu(current: string): { button: HTMLElement; menu: HTMLElement } {
  const menu = h("nav", { class: "menu card", id: menuId, popover: "auto", "aria-label": "Pages" }, createLinks(current));
  const button = h(
    "button",
    { type: "button", class: "icon-button menu-button", popovertarget: menuId, title: "Pages", "aria-label": "Pages", "aria-expanded": "false" },
    icon("menu"),
  );
  const links = [...menu.querySelectorAll("a")];
  menu.addEventListener("toggle", (event) => {
    const open = event.newState === "open";
    button.setAttribute("aria-expanded", String(open));
    if (open) (links.find((link) => link.ariaCurrent === "page") ?? links[0])?.focus();
  });
  menu.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = links.findIndex((link) => link === document.activeElement);
    links[(at + step + links.length) % links.length]?.focus();
  });
  return { button, menu };
}
