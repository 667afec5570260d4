// The legend: what the shapes of objects mean, and how many of each are in view; and what the colours tell apart. Each state
// and each fleet is a button that filters by it.

import type { App } from "../app";
import { fillKeyed, h, setText } from "../dom";
import { formatCount, plural } from "../format";
import { stateNames } from "../live/frame";
import { filtersObjects } from "../model/filter";
import type { Colouring } from "../view";

/** Further fleets are in the filter's list only. */
const shownFleets = 12;

export function createLegend(app: App): HTMLElement {
  return h("div", { class: "legend" }, h("h3", {}, "Objects in view"), ...states(app), colouring(app), fleets(app));
}

function states(app: App): HTMLElement[] {
  const rows = stateNames.map((state) => {
    const count = h("span", { class: "count" }, "0");
    const onclick = (): void => {
      const { states } = app.view.value.filter;
      app.setFilter({ states: states.includes(state) ? states.filter((other) => other !== state) : [...states, state] });
    };
    const button = h("button", { type: "button", class: "state", "data-state": state, onclick }, h("i", { "aria-hidden": "true" }), h("span", {}, state), count);
    return { state, count, button, item: h("li", {}, button) };
  });
  const list = h("ul", { "aria-label": "States of objects" }, ...rows.map(({ item }) => item));
  const crowd = h("p", { class: "crowd", hidden: true });
  const draw = (): void => {
    const chosen = app.view.value.filter.states;
    const now = app.objects.counts();
    const empty = now !== null && app.objects.frame.count === 0 && filtersObjects(app.view.value.filter);
    crowd.hidden = now !== null && !empty;
    for (const { state, count, button, item } of rows) {
      button.setAttribute("aria-pressed", String(chosen.includes(state)));
      button.title = chosen.includes(state) ? `Show objects in all states again` : `Show only ${state} objects, and their events`;
      count.hidden = now === null;
      if (now) setText(count, formatCount(now[state]));
      item.hidden = state === "unknown" && !now?.unknown && !chosen.includes(state);
    }
    if (empty) setText(crowd, "No object here passes the filter.");
    if (now) return;
    const { cells } = app.objects.frame;
    const sum = (numbers: Uint32Array | undefined): number => numbers?.reduce((a, b) => a + b, 0) ?? 0;
    setText(crowd, `${plural(sum(cells?.objects), "object")}, ${formatCount(sum(cells?.silent))} of them silent. Come closer to see each.`);
  };
  app.frame.bind(draw);
  app.view.watch((now, before) => {
    if (now.filter !== before.filter) draw();
  });
  return [list, crowd];
}

function colouring(app: App): HTMLElement {
  const choice = (value: Colouring, word: string): HTMLButtonElement => {
    const button = h("button", { type: "button", onclick: () => app.view.update((view) => ({ ...view, colouring: value })) }, word);
    app.view.bind((view) => button.setAttribute("aria-pressed", String(view.colouring === value)));
    return button;
  };
  return h(
    "div",
    { class: "colouring", role: "group", "aria-label": "Colours tell apart" },
    h("span", {}, "Colours by"),
    choice("set", "set"),
    choice("fleet", "fleet"),
  );
}

function fleets(app: App): HTMLElement {
  const list = h("ul", { class: "fleets", "aria-label": "Fleets" });
  const row = (name: string): HTMLElement => {
    const onclick = (): void => app.setFilter({ fleet: app.view.value.filter.fleet === name ? "" : name });
    const button = h("button", { type: "button", class: "state", title: `Show only the fleet ${name}`, onclick }, h("i", { "aria-hidden": "true" }), h("span", {}, name));
    return h("li", { "data-colour": app.fleets.colour(name), "data-fleet": name }, button);
  };
  const draw = (): void => {
    const { colouring, filter } = app.view.value;
    list.hidden = colouring !== "fleet";
    fillKeyed(list, app.fleets.names.value.slice(0, shownFleets), (name) => name, row);
    for (const item of list.children) {
      item.firstElementChild?.setAttribute("aria-pressed", String((item as HTMLElement).dataset.fleet === filter.fleet));
    }
  };
  app.fleets.names.bind(draw);
  app.view.watch(draw);
  return list;
}
