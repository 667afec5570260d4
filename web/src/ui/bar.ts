// The top bar: name, figures, the state of the connection.

import type { App } from "../app";
import { fill, h, icon } from "../dom";
import { createFigures } from "./figures";
import { showHelp } from "./help";

export function createBar(app: App, bar: HTMLElement): void {
  const version = h("span", { class: "version" });
  const pill = h("span", { class: "pill" });
  const help = h("button", { class: "icon-button", type: "button", title: "Keys (?)", "aria-label": "Keys", onclick: showHelp }, icon("keyboard"));
  bar.append(
    h("div", { class: "brand" }, mark(), h("h1", {}, "Paddock"), version),
    createFigures(app),
    h("div", { class: "bar-end" }, pill, help),
  );
  app.hello.watch((hello) => {
    if (!hello) return;
    const build = hello.version.replace(/^paddock /, "");
    version.textContent = hello.demo ? "demo" : build;
    version.title = `Paddock ${build}`;
  });
  app.connection.link.bind((link) => {
    pill.dataset.state = link.state;
    const word = { connecting: "Connecting", live: "Live", lost: "Offline" }[link.state];
    fill(pill, h("i", { "aria-hidden": "true" }), word);
  });
}

function mark(): SVGSVGElement {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("viewBox", "0 0 32 32");
  svg.setAttribute("class", "mark");
  svg.setAttribute("aria-hidden", "true");
  for (const [name, d] of [
    ["mark-fence", "M6 9 22 5.5 28 18 17 27.5 4 21.5z"],
    ["mark-arrow", "m16.5 10 4.6 10.4-4.6-2.3-4.6 2.3z"],
  ] as const) {
    const path = document.createElementNS(namespace, "path");
    path.setAttribute("d", d);
    path.setAttribute("class", name);
    svg.append(path);
  }
  return svg;
}
