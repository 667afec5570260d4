// The sets: colour, name, count, visible or not; and what the objects' shapes mean.

import type { App } from "../app";
import { fill, h, setText } from "../dom";
import { formatCount, plural } from "../format";

export function createSets(app: App): HTMLElement {
  const list = h("ul", { class: "sets" });
  const note = h("p", { class: "note" });
  const draw = (): void => {
    const { infos, sets, error } = app.catalog;
    fill(list, ...infos.value.map((info) => setRow(app, info.name, info.fences, sets.value.has(info.name))));
    setText(note, error.value || (infos.value.length === 0 ? "No sets yet." : ""));
    note.hidden = note.textContent === "";
  };
  app.catalog.infos.bind(draw);
  app.catalog.sets.watch(draw);
  app.catalog.error.watch(draw);
  app.view.watch((now, before) => {
    if (now.hidden !== before.hidden) draw();
  });
  return h(
    "section",
    { class: "card sets-card", "aria-labelledby": "sets-title" },
    h("div", { class: "card-head" }, h("h2", { id: "sets-title" }, "Sets")),
    list,
    note,
    legend(app),
  );
}

function setRow(app: App, name: string, fences: number, loaded: boolean): HTMLElement {
  const hidden = app.view.value.hidden.includes(name);
  const box = h("input", {
    type: "checkbox",
    checked: !hidden,
    "aria-label": `Show ${name}`,
    onchange: () => {
      app.toggleSet(name);
      // The row has been drawn again: the keyboard stays on it.
      document.getElementById(`set-${name}`)?.focus();
    },
  });
  box.id = `set-${name}`;
  return h(
    "li",
    { class: hidden ? "set off" : "set", "data-colour": app.catalog.colour(name) },
    box,
    h(
      "button",
      { type: "button", class: "set-name", title: `Show ${name} on the map`, onclick: () => app.map.value?.fit(name) },
      h("span", {}, name),
      h("span", { class: "count", "aria-label": plural(fences, "fence") }, loaded ? formatCount(fences) : "…"),
    ),
  );
}

function legend(app: App): HTMLElement {
  const counts = (["moving", "dwelling", "silent", "unknown"] as const).map((state) => {
    const count = h("span", { class: "count" }, "0");
    return { state, count, item: h("li", { class: "state", "data-state": state }, h("i", { "aria-hidden": "true" }), h("span", {}, state), count) };
  });
  app.frame.watch(() => {
    const now = app.objects.counts();
    for (const { state, count, item } of counts) {
      setText(count, formatCount(now[state]));
      if (state === "unknown") item.hidden = now.unknown === 0;
    }
  });
  return h(
    "div",
    { class: "legend" },
    h("h3", {}, "Objects in view"),
    h("ul", {}, ...counts.map(({ item }) => item)),
  );
}
