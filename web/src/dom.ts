// h: builds elements. Children that are strings become text nodes, so data can never turn into markup.

export type Child = Node | string | number | null | undefined | false;

type Attributes = Record<string, string | number | boolean | undefined | ((event: never) => void)>;

/**
 * Makes an element. An attribute that is a function becomes a listener (`onclick`), `true` an empty attribute; false
 * and undefined are left out.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(...present(children));
  return element;
}

function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

function present(children: Child[]): (Node | string)[] {
  const kept: (Node | string)[] = [];
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    kept.push(typeof child === "number" ? String(child) : child);
  }
  return kept;
}

/** Replaces the element's children. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...present(children));
}

const keys = new WeakMap<Element, string>();

/**
 * Makes the list's children those of the items, in their order. The element of an item whose key was there before
 * stays as it is, so that a click, the focus or a selection on it survives.
 */
export function fillKeyed<T>(list: Element, items: readonly T[], key: (item: T) => string, create: (item: T) => HTMLElement): void {
  const present = new Map<string, Element>();
  for (const child of [...list.children]) {
    const k = keys.get(child);
    if (k === undefined) child.remove();
    else present.set(k, child);
  }
  let place: Element | null = list.firstElementChild;
  for (const item of items) {
    const k = key(item);
    let element = present.get(k);
    present.delete(k);
    if (!element) {
      element = create(item);
      keys.set(element, k);
    }
    if (element === place) place = place.nextElementSibling;
    else list.insertBefore(element, place);
  }
  for (const gone of present.values()) gone.remove();
}

/** Writes text only when it differs, so that an unchanged value costs no layout. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

const svgNamespace = "http://www.w3.org/2000/svg";

const paths = {
  enter: "M3 3.5h3.5M3 12.5h3.5M3 3.5v9M14 8H7.5M10 5 7 8l3 3",
  exit: "M3 3.5h4M3 12.5h4M3 3.5v9M6.5 8H14M11 5l3 3-3 3",
  dwell: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5v3.2l2.2 1.3",
  inside: "M3 3h10v10H3zM8 6.7a1.3 1.3 0 1 0 0 2.6 1.3 1.3 0 0 0 0-2.6",
  outside: "M2.5 6h7.5v7.5H2.5zM12.5 2.2a1.3 1.3 0 1 0 0 2.6 1.3 1.3 0 0 0 0-2.6",
  cross: "M7 2.5v3M7 10.5v3M2 8h11.5M10.5 5l3 3-3 3",
  begin: "M4 14V2.5M4 3h8l-2 2.8 2 2.8H4",
  end: "M4 14V2.5M4 3h8l-2 2.8 2 2.8H4M1.5 13.5l13-11",
  fill: "M3 13V9.5M8 13V6M13 13V2.5",
  drain: "M3 13V2.5M8 13V6M13 13V9.5",
  meet: "M1.5 8h5M4 5.5L6.5 8 4 10.5M14.5 8h-5M12 5.5L9.5 8l2.5 2.5",
  part: "M6.5 8h-5M4 5.5L1.5 8 4 10.5M9.5 8h5M12 5.5L14.5 8 12 10.5",
  info: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 7.3v3.4M8 5.2v.1",
  other: "M8 2.5 13.5 8 8 13.5 2.5 8z",
  gap: "M8 2.8 14 13H2zM8 6.5v3M8 11.2v.3",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.4 10.4 13.5 13.5",
  close: "M4 4l8 8M12 4l-8 8",
  pause: "M6 3.5v9M10 3.5v9",
  play: "M5 3.5v9L12.5 8z",
  history: "M2.6 6.2A5.7 5.7 0 1 1 2.3 8.6M2.5 3v3.3h3.3M8 5v3.2l2.2 1.3",
  previous: "M4 4v8M12.5 4v8L6.5 8z",
  next: "M12 4v8M3.5 4v8L9.5 8z",
  fit: "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3",
  layers: "M8 2.5 14 6 8 9.5 2 6zM2.5 9.5 8 12.8l5.5-3.3",
  list: "M3 4h10M3 8h10M3 12h6",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  map: "M2 4l4-1.5 4 1.5 4-1.5v9.5L10 13.5 6 12l-4 1.5zM6 2.5V12M10 4v9.5",
  rule: "M2.5 4.6l1.3 1.3 2.3-2.6M8.5 4.5h5M2.5 10.9l1.3 1.3 2.3-2.6M8.5 10.8h5",
  hook: "M6.5 3H3v10h10V9.5M9.5 2.8h3.7v3.7M13 3 7.5 8.5",
  key: "M5.3 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8.1 8H14v2.6M11.4 8v2",
  phone: "M5 1.8h6a.8.8 0 0 1 .8.8v10.8a.8.8 0 0 1-.8.8H5a.8.8 0 0 1-.8-.8V2.6a.8.8 0 0 1 .8-.8M7.2 12h1.6",
  bus: "M1.8 8h12.4M4.2 8V4.2M8 8v4M11.8 8V4.2M4.2 2.4v.1M8 13.6v.1M11.8 2.4v.1",
  wire: "M2 5.5h10M9.5 3 12 5.5 9.5 8M14 10.5H4M6.5 8 4 10.5 6.5 13",
  tunnel: "M1.5 13.5h13M3 13.5V8a5 5 0 0 1 10 0v5.5M6 13.5V8.3a2 2 0 0 1 4 0v5.2",
  cluster: "M8 1.8a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4M3.5 10.8a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4M12.5 10.8a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4M7.2 5.1 4.3 10.9M8.8 5.1l2.9 5.8M5.2 12.5h5.6",
  runs: "M2.8 12.2a5.7 5.7 0 1 1 10.4 0M8 10.5l2.6-3.7M8 3.6v1.2M3.6 7.2l1.1.5",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6L13 5.8M13 2.6v3.2H9.8",
  polygon: "M8 2.5 13.5 6.5 11.5 13h-7L2.5 6.5z",
  circle: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11",
  corridor: "M2 9 6.5 3.5l7.5 4M2.5 13.5 7.5 8l5.5 3",
  line: "M2.5 12 6.5 5l3.5 5 3.5-6",
  hole: "M2.5 2.5h11v11h-11zM6 6h4v4H6z",
  edit: "M3 13l.7-3 6.8-6.8 2.3 2.3L6 12.3zM9 4.7 11.3 7",
  trash: "M3.5 4.5h9M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5M7 7v3.5M9 7v3.5",
  undo: "M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6M5.5 4 3 6.5 5.5 9",
  redo: "M13 6.5H6.5a3.5 3.5 0 0 0 0 7H10M10.5 4 13 6.5 10.5 9",
  follow: "M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M8 1.5v3M8 11.5v3M1.5 8h3M11.5 8h3",
  copy: "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
  check: "M3 8.5 6.5 12 13 4.5",
  keyboard: "M2 4.5h12v7H2zM4.5 7h.1M7 7h.1M9.5 7h.1M11.8 7h.1M5.5 9.3h5",
  plus: "M8 3.5v9M3.5 8h9",
  minus: "M3.5 8h9",
  chevron: "M6 4l4 4-4 4",
  eye: "M1.8 8S4 3.8 8 3.8 14.2 8 14.2 8 12 12.2 8 12.2 1.8 8 1.8 8M8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6",
} as const;

export type IconName = keyof typeof paths;

/** A 16 px line icon in the text's colour, hidden from screen readers: the word beside it says the same. */
export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS(svgNamespace, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(svgNamespace, "path");
  path.setAttribute("d", paths[name]);
  svg.append(path);
  return svg;
}
