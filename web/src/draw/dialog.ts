// Dialog: a question with buttons. Escape is the last answer, which changes nothing.

import { h } from "../dom";

export interface Answer<T> {
  value: T;
  label: string;
  /** It loses something. */
  danger?: boolean;
}

export function ask<T>(title: string, text: string, answers: readonly [...Answer<T>[], Answer<T>]): Promise<T> {
  return new Promise((resolve) => {
    let chosen = answers.at(-1)!.value;
    const buttons = answers.map(({ value, label, danger }) => {
      const choose = (): void => {
        chosen = value;
        dialog.close();
      };
      return h("button", { type: "button", class: danger ? "draw-button danger" : "draw-button", onclick: choose }, label);
    });
    const dialog = h(
      "dialog",
      { class: "draw-dialog card", "aria-labelledby": "draw-dialog-title", "aria-describedby": "draw-dialog-text" },
      h("h2", { id: "draw-dialog-title" }, title),
      h("p", { id: "draw-dialog-text" }, text),
      h("div", { class: "draw-actions" }, ...buttons),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(chosen);
    });
    document.body.append(dialog);
    dialog.showModal();
    buttons.at(-1)?.focus(); // nothing is lost by Enter
  });
}
