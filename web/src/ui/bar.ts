// The top bar: name, the state of the fleet, figures of the process, the state of the connection.

import type { App } from "../app";
import { fill, h, icon } from "../dom";
import { createMenu } from "../nav/nav";
import { createFigures } from "./figures";
import { createFleetFigures } from "./fleet-figures";
import { showHelp } from "./help";
import { mark } from "./mark";

export function createBar(app: App, bar: HTMLElement): void {
  const version = h("span", { class: "version" });
  const pill = h("span", { class: "pill" });
  const help = h("button", { class: "icon-button", type: "button", title: "Keys (?)", "aria-label": "Keys", onclick: showHelp }, icon("keyboard"));
  const { button, menu } = createMenu("");
  document.body.append(menu);
  bar.append(
    h("div", { class: "brand" }, button, mark(), h("h1", {}, "Paddock"), version),
    createFleetFigures(app),
    createFigures(app),
    h("div", { class: "bar-end" }, pill, help),
  );
  app.hello.watch((hello) => {
    if (!hello) return;
    const build = hello.version.replace(/^paddock /, "");
    version.textContent = hello.demo ? "demo" : (build.split(" ")[0] ?? "");
    version.title = `Paddock ${build}`;
  });
  const say = (): void => {
    const { state } = app.connection.link.value;
    const shown = state === "live" && app.past.active ? "past" : state;
    pill.dataset.state = shown;
    const word = { connecting: "Connecting", live: "Live", lost: "Offline", ended: "Session ended", past: "Past" }[shown];
    fill(pill, h("i", { "aria-hidden": "true" }), word);
  };
  app.connection.link.bind(say);
  app.scene.watch(say);
}
