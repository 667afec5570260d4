// Forms: fields with their labels and hints, and a line that tells what came of sending them.

import { fill, h, type Child } from "../dom";
import { explain } from "./request";

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

let last = 0;

/** A control with its label above and a hint below. */
export function field(label: string, control: Control, hint: Child = null): HTMLElement {
  control.id ||= `field-${++last}`;
  const about = hint === null ? null : h("p", { class: "hint", id: `${control.id}-hint` }, hint);
  if (about) control.setAttribute("aria-describedby", about.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, about);
}

/** A text of one line. The browser neither completes nor corrects it. */
export function textInput(value = "", attributes: Record<string, string | number | boolean> = {}): HTMLInputElement {
  const input = h("input", { type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", ...attributes });
  input.value = value;
  return input;
}

export function textArea(value = "", rows = 4, attributes: Record<string, string | number | boolean> = {}): HTMLTextAreaElement {
  const area = h("textarea", { rows, autocapitalize: "off", spellcheck: "false", autocomplete: "off", ...attributes });
  area.value = value;
  return area;
}

export function select(options: readonly (readonly [value: string, label: string])[], value: string): HTMLSelectElement {
  const known = options.some(([each]) => each === value) ? options : [...options, [value, value] as const];
  const control = h("select", {}, ...known.map(([each, label]) => h("option", { value: each }, label)));
  control.value = value;
  return control;
}

/** A check box with its words behind it. */
export function checkBox(label: Child, checked: boolean, value = ""): { element: HTMLElement; input: HTMLInputElement } {
  const input = h("input", { type: "checkbox", value });
  input.checked = checked;
  return { element: h("label", { class: "check" }, input, h("span", {}, label)), input };
}

export function group(title: string, ...content: Child[]): HTMLElement {
  return h("fieldset", { class: "group" }, h("legend", {}, title), ...content);
}

export interface FormOptions {
  label: string;
  fields: Child[];
  submit: string;
  /** Sends the form; an error is shown in it. */
  send: () => Promise<unknown>;
  cancel?: () => void;
}

/** A form. While it is sent it cannot be sent again. */
export function form({ label, fields, submit, send, cancel }: FormOptions): HTMLFormElement {
  const outcome = h("p", { class: "outcome", role: "alert", hidden: true });
  const button = h("button", { type: "submit", class: "button primary" }, submit);
  const back = cancel ? h("button", { type: "button", class: "button", onclick: cancel }, "Cancel") : null;
  const element = h("form", { class: "form", "aria-label": label, novalidate: true }, ...fields, outcome, h("div", { class: "actions" }, back, button));
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(button, outcome, send);
  });
  return element;
}

/** Does something of a button: meanwhile the button rests, and an error is told in the line. */
export async function attempt(button: HTMLButtonElement, outcome: HTMLElement, act: () => Promise<unknown>): Promise<void> {
  if (button.ariaDisabled === "true") return;
  button.ariaDisabled = "true";
  outcome.hidden = true;
  try {
    await act();
  } catch (error) {
    fill(outcome, explain(error));
    outcome.hidden = false;
  } finally {
    button.ariaDisabled = null;
  }
}

/** Replaces the content of an element. If the keyboard was in it, it goes on at its first control. */
export function refill(target: HTMLElement, ...children: Child[]): void {
  const focus = target.contains(document.activeElement);
  fill(target, ...children);
  if (focus) target.querySelector<HTMLElement>("input, select, textarea, button, a")?.focus();
}

/** Buttons for operations, and one line for their failures. */
export function operations(...all: (readonly [label: string, act: () => Promise<unknown>, className?: string])[]): HTMLElement {
  const outcome = h("p", { class: "outcome", role: "alert", hidden: true });
  const buttons = all.map(([label, act, className = "button"]) => {
    const button: HTMLButtonElement = h("button", { type: "button", class: className, onclick: () => void attempt(button, outcome, act) }, label);
    return button;
  });
  return h("div", { class: "operations" }, h("div", { class: "actions begin" }, ...buttons), outcome);
}
