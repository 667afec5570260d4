// The feed's filters: set, kinds of event, rule, text.

import type { App } from "../app";
import { fill, h, icon, setText } from "../dom";
import { isFiltering } from "../model/filter";
import { noFilter } from "../view";
import { createKinds } from "./kinds";

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
  const ruleName = h("b");
  const rule = h(
    "button",
    { type: "button", class: "rule", title: "Show the events of all rules again", onclick: () => app.setFilter({ rule: "" }) },
    h("span", {}, "Rule ", ruleName),
    icon("close"),
  );
  const clear = h("button", { type: "button", class: "link clear", onclick: () => app.setFilter(noFilter) }, "Clear");

  const draw = (): void => {
    const { filter } = app.view.value;
    const names = app.catalog.infos.value.map(({ name }) => name);
    if (filter.set !== "" && !names.includes(filter.set)) names.push(filter.set);
    fill(set, h("option", { value: "" }, "All sets"), ...names.map((name) => h("option", { value: name }, name)));
    set.value = filter.set;
    if (text.value !== filter.text) text.value = filter.text;
    rule.hidden = filter.rule === "";
    setText(ruleName, filter.rule);
    clear.hidden = !isFiltering(filter);
  };
  app.catalog.infos.bind(draw);
  app.view.watch((now, before) => {
    if (now.filter !== before.filter) draw();
  });
  return h(
    "div",
    { class: "filters", role: "group", "aria-label": "Filter the events" },
    createKinds(app, clear),
    rule,
    h("div", { class: "fields" }, set, text),
  );
}
