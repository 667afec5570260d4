// The filters of map and feed: kinds of event, rule, states, set, fleet, text.

import type { App } from "../app";
import { fill, h, icon, setText } from "../dom";
import { isFiltering } from "../model/filter";
import { noFilter } from "../view";
import { createKinds } from "./kinds";

export function createFilters(app: App): HTMLElement {
  const set = h("select", { "aria-label": "Events of set", onchange: () => app.setFilter({ set: set.value }) });
  const fleet = h("select", { "aria-label": "Events and objects of fleet", onchange: () => app.setFilter({ fleet: fleet.value }) });
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
  const ruleName = h("b");
  const rule = h(
    "button",
    { type: "button", class: "rule", title: "Show the events of all rules again", onclick: () => app.setFilter({ rule: "" }) },
    h("span", {}, "Rule ", ruleName),
    icon("close"),
  );
  const stateNames = h("b");
  const states = h(
    "button",
    { type: "button", class: "rule", title: "Show objects in all states again", onclick: () => app.setFilter({ states: [] }) },
    h("span", {}, "Objects ", stateNames),
    icon("close"),
  );
  const clear = h("button", { type: "button", class: "link clear", onclick: () => app.setFilter(noFilter) }, "Clear");

  const draw = (): void => {
    const { filter } = app.view.value;
    const names = app.catalog.infos.value.map(({ name }) => name);
    if (filter.set !== "" && !names.includes(filter.set)) names.push(filter.set);
    fill(set, h("option", { value: "" }, "All sets"), ...names.map((name) => h("option", { value: name }, name)));
    set.value = filter.set;
    const fleets = [...app.fleets.names.value];
    if (filter.fleet !== "" && !fleets.includes(filter.fleet)) fleets.push(filter.fleet);
    fill(fleet, h("option", { value: "" }, "All fleets"), ...fleets.map((name) => h("option", { value: name }, name)));
    fleet.value = filter.fleet;
    states.hidden = filter.states.length === 0;
    setText(stateNames, filter.states.join(", "));
    if (text.value !== filter.text) text.value = filter.text;
    rule.hidden = filter.rule === "";
    setText(ruleName, filter.rule);
    clear.hidden = !isFiltering(filter);
  };
  app.catalog.infos.bind(draw);
  app.fleets.names.watch(draw);
  app.view.watch((now, before) => {
    if (now.filter !== before.filter) draw();
  });
  return h(
    "div",
    { class: "filters", role: "group", "aria-label": "Filter events and objects" },
    createKinds(app, clear),
    rule,
    states,
    h("div", { class: "fields" }, set, fleet),
    h("div", { class: "fields" }, text),
  );
}
