// The demo's greeting: one line on what this is, and three things to try. Shown until it is closed.

import type { App } from "../app";
import { h, icon } from "../dom";
import { eventSelection } from "./words";

const closedKey = "paddock.greeting.closed";

export function createGreeting(app: App): HTMLElement {
  const close = (): void => {
    element.hidden = true;
    app.covered.update((n) => n + 1);
    sessionStorage.setItem(closedKey, "1");
  };
  const followOne = (): void => {
    const selection = app.map.value?.someObject();
    if (selection) app.select(selection);
  };
  const lookInside = (): void => {
    const selection = app.map.value?.someFence();
    if (selection) app.select(selection);
  };
  const openEvent = (): void => {
    const event = app.feed.recent.at(-1);
    if (event) app.select(eventSelection(event));
  };
  const element = h(
    "section",
    { class: "greeting card", "aria-label": "About this demo", hidden: true },
    h(
      "p",
      {},
      h("strong", {}, "A simulated city, live."),
      " Every vehicle reports its position; Paddock says at once which fence it enters and which it leaves.",
    ),
    h(
      "div",
      { class: "tries" },
      h("button", { type: "button", onclick: followOne }, icon("follow"), "Follow a vehicle"),
      h("button", { type: "button", onclick: lookInside }, icon("eye"), "See what is in a fence"),
      h("button", { type: "button", onclick: openEvent }, icon("list"), "Open an event"),
    ),
    h("button", { type: "button", class: "icon-button", "aria-label": "Close the greeting", onclick: close }, icon("close")),
  );
  app.hello.bind((hello) => {
    element.hidden = !hello?.demo || sessionStorage.getItem(closedKey) !== null;
  });
  return element;
}
