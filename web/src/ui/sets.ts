// The sets: colour, name, count, visible or not, their policies on request; below them the legend.

import type { App } from "../app";
import { fill, h, icon, setText } from "../dom";
import { formatCount, plural } from "../format";
import { drawButton } from "../draw/start";
import { createLegend } from "./legend";
import { showPolicy } from "./policy";

export function createSets(app: App): HTMLElement {
  const list = h("ul", { class: "sets" });
  const policies = new Policies();
  const note = h("p", { class: "note" });
  const draw = (): void => {
    const { infos, sets, error } = app.catalog;
    policies.keep(infos.value.map(({ name }) => name));
    fill(list, ...infos.value.map((info) => setRow(app, info.name, info.fences, sets.value.has(info.name), policies.of(info.name))));
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
    h("div", { class: "card-head" }, h("h2", { id: "sets-title" }, "Sets"), drawButton(app)),
    list,
    note,
    createLegend(app),
  );
}

/** A set's policy, and the button that shows it. */
interface PolicyPart {
  button: HTMLButtonElement;
  text: HTMLElement;
}

/** The policies of the sets. Their parts outlive the rows, which are drawn again whenever a set changes. */
class Policies {
  readonly #parts = new Map<string, PolicyPart>();

  /** Forgets those of other sets. */
  keep(sets: readonly string[]): void {
    for (const set of this.#parts.keys()) if (!sets.includes(set)) this.#parts.delete(set);
  }

  of(set: string): PolicyPart {
    let part = this.#parts.get(set);
    if (!part) {
      part = createPolicy(set);
      this.#parts.set(set, part);
    }
    return part;
  }
}

function createPolicy(set: string): PolicyPart {
  const text = h("div", { class: "set-policy", hidden: true, id: `policy-${set}` });
  const label = `When ${set} counts a change`;
  const toggle = (): void => {
    text.hidden = !text.hidden;
    button.setAttribute("aria-expanded", String(!text.hidden));
    if (!text.hidden) void showPolicy(text, set);
  };
  const button = h(
    "button",
    { type: "button", class: "set-info", "aria-label": label, title: label, "aria-expanded": "false", "aria-controls": text.id, onclick: toggle },
    icon("info"),
  );
  return { button, text };
}

function setRow(app: App, name: string, fences: number, loaded: boolean, policy: PolicyPart): HTMLElement {
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
    policy.button,
    policy.text,
  );
}
