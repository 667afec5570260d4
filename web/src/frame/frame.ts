// The frame of all pages but the map: bar, navigation, banner, and the page's own content.

import { h } from "../dom";
import { createLinks, createMenu } from "../nav/nav";
import type { PageEntry } from "../nav/pages";
import { mark } from "../ui/mark";

export interface Frame {
  page: HTMLElement;
  /** The middle of the bar, for figures. */
  figures: HTMLElement;
  /** The end of the bar, for the state of the connection. */
  end: HTMLElement;
  banner: HTMLElement;
  main: HTMLElement;
}

/** What the module of a page has. */
export interface PageModule {
  open: (frame: Frame) => void;
}

export function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found;
}

/** Builds the frame. Without an entry there is no other page, and so no navigation. */
export function createFrame(entry: PageEntry | null, label: string): Frame {
  const figures = h("div", { class: "bar-figures" }, entry?.about === undefined ? null : h("p", { class: "bar-about" }, entry.about));
  const end = h("div", { class: "bar-end" });
  const brand = h("div", { class: "brand" }, mark(), h("span", { class: "brand-name" }, "Paddock"), h("h1", { class: "page-name" }, label));
  if (entry) {
    const { button, menu } = createMenu(entry.name);
    brand.prepend(button);
    document.body.append(menu);
    element("side").append(createLinks(entry.name));
  }
  element("page").classList.toggle("alone", entry === null);
  element("bar").append(brand, figures, end);
  document.title = `Paddock ${label.toLowerCase()}`;
  return { page: element("page"), figures, end, banner: element("banner"), main: element("main") };
}
