// A secret that is shown once. It is in the value of a field, which is no part of the document's text, and gone when
// the panel is.

import { h } from "../dom";
import { copyButton } from "../ui/parts";

/** A panel with a secret: hidden until it is asked for, with a button that copies it. */
export function secretPanel(label: string, secret: string, hint: string, done: () => void): HTMLElement {
  const field = h("input", { type: "password", readonly: true, class: "secret", "aria-label": label, autocomplete: "off", spellcheck: "false" });
  field.value = secret;
  const reveal = h("button", { type: "button", class: "copy", "aria-pressed": "false" }, "Show");
  reveal.addEventListener("click", () => {
    const shown = field.type === "password";
    field.type = shown ? "text" : "password";
    reveal.ariaPressed = String(shown);
    reveal.textContent = shown ? "Hide" : "Show";
  });
  const close = (): void => {
    field.value = "";
    panel.remove();
    done();
  };
  const panel = h(
    "section",
    { class: "secret-panel", "aria-label": label },
    h("p", {}, h("strong", {}, label), ` ${hint}`),
    h("div", { class: "secret-line" }, field, reveal, copyButton(`Copy: ${label}`, () => field.value)),
    h("div", { class: "actions" }, h("button", { type: "button", class: "button", onclick: close }, "I have kept it")),
  );
  return panel;
}
