// The filter by kind of event: a button for each common kind, and the rare ones behind "more".

import type { App } from "../app";
import { fill, fillKeyed, h, icon } from "../dom";
import { isChosen, kindChoices, toggleChoice, unlistedChoices, type KindChoice } from "../model/kinds";
import { kindIcon } from "./words";

/** The buttons of the kinds, and after them what else belongs in their line. */
export function createKinds(app: App, last: HTMLElement): HTMLElement {
  let all = false;
  const toggle = (): void => {
    all = !all;
    draw();
  };
  const more = h("button", { type: "button", class: "more", onclick: toggle });
  const element = h("div", { class: "kinds", role: "group", "aria-label": "Kinds of event" });
  const buttons = new Map<string, HTMLElement>();
  const button = (choice: KindChoice): HTMLElement => {
    const made = kindButton(app, choice);
    buttons.set(choice.word, made);
    return made;
  };

  const draw = (): void => {
    const { events } = app.view.value.filter;
    const choices = [...kindChoices, ...unlistedChoices(events)].filter(({ rare, kinds }) => all || !rare || isChosen(events, kinds));
    const focused = element.contains(document.activeElement);
    fillKeyed<KindChoice | HTMLElement>(
      element,
      [...choices, more, last],
      (item) => (item instanceof HTMLElement ? item.className : `kind ${item.word}`),
      (item) => (item instanceof HTMLElement ? item : button(item)),
    );
    for (const { word, kinds } of choices) buttons.get(word)?.setAttribute("aria-pressed", String(isChosen(events, kinds)));
    more.setAttribute("aria-expanded", String(all));
    fill(more, all ? "fewer" : "more", icon("chevron"));
    // The keyboard stays where it was, also if the button that it pressed has gone.
    if (focused && !element.contains(document.activeElement)) more.focus();
  };
  draw();
  app.view.watch((now, before) => {
    if (now.filter !== before.filter) draw();
  });
  return element;
}

function kindButton(app: App, choice: KindChoice): HTMLButtonElement {
  const onclick = (): void => app.setFilter({ events: toggleChoice(app.view.value.filter.events, choice) });
  return h("button", { type: "button", onclick }, kindIcon(choice.kinds[0]!), choice.word);
}
