// Questions before what cannot be undone.

import { h } from "../dom";

export interface Question {
  title: string;
  text: string;
  /** The word on the button that does it. */
  action: string;
  /** It removes something. */
  danger?: boolean;
}

let last = 0;

/** Asks in a dialog; true if the action was chosen. Escape is no. */
export function confirm({ title, text, action, danger = true }: Question): Promise<boolean> {
  const id = `question-${++last}`;
  return new Promise((resolve) => {
    const yes = h("button", { type: "button", class: danger ? "button danger" : "button primary", onclick: () => close(true) }, action);
    const no = h("button", { type: "button", class: "button", onclick: () => close(false) }, "Cancel");
    const dialog = h(
      "dialog",
      { class: "question card", "aria-labelledby": id },
      h("h2", { id }, title),
      h("p", {}, text),
      h("div", { class: "actions" }, no, yes),
    );
    const close = (answer: boolean): void => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      close(false);
    });
    document.body.append(dialog);
    dialog.showModal();
    no.focus();
  });
}

/** Tells readers of the screen what has happened. */
export function announce(text: string): void {
  const announcer = document.getElementById("announcer");
  if (announcer) announcer.textContent = text;
}
