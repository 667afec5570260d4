// The feed's filters: set, kinds of event, text.

import type { App } from "../app";
import { fill, h } from "../dom";
import { isFiltering } from "../model/filter";
import { eventKinds, noFilter } from "../view";
import { kindIcon } from "./words";

export function createFilters(app: App): HTMLElement {
  const set = h("select", { "aria-label": "Events of set", onchange: () => app.setFilter({ set: set.value }) });
  const text = h("input", {
    type: "search",
    placeholder: "Filter by text",
    "aria-label": "Events with text",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => app.setFilter({ text: text.value }),
    onkeydown: (event: KeyboardEvent) => {
      if (event.key !== "Escape" || text.value === "") return;
      event.stopPropagation();
      text.value = "";
      app.setFilter({ text: "" });
    },
  });
  const kinds = eventKinds.map((kind) => kindButton(app, kind));
  const clear = h("button", { type: "button", class: "link clear", onclick: () => app.setFilter(noFilter) }, "Clear");

  const draw = (): void => {
    const { filter } = app.view.value;
    const names = app.catalog.infos.value.map(({ name }) => name);
    if (filter.set !== "" && !names.includes(filter.set)) names.push(filter.set);
    fill(set, h("option", { value: "" }, "All sets"), ...names.map((name) => h("option", { value: name }, name)));
    set.value = filter.set;
    if (text.value !== filter.text) text.value = filter.text;
    for (const { kind, button } of kinds) button.setAttribute("aria-pressed", String(filter.events.includes(kind)));
    clear.hidden = !isFiltering(filter);
  };
  app.catalog.infos.bind(draw);
  app.view.watch((now, before) => {
    if (now.filter !== before.filter) draw();
  });
  return h(
    "div",
    { class: "filters", role: "group", "aria-label": "Filter the events" },
    h("div", { class: "kinds", role: "group", "aria-label": "Kinds of event" }, ...kinds.map(({ button }) => button), clear),
    h("div", { class: "fields" }, set, text),
  );
}

function kindButton(app: App, kind: string): { kind: string; button: HTMLButtonElement } {
  const toggle = (): void => {
    const { events } = app.view.value.filter;
    app.setFilter({ events: events.includes(kind) ? events.filter((other) => other !== kind) : [...events, kind] });
  };
  return { kind, button: h("button", { type: "button", "aria-pressed": "false", onclick: toggle }, kindIcon(kind), kind) };
}
