// Fields: inputs of the panel with their labels and what is wrong with them.

import { h, setText } from "../dom";
import type { Fault } from "./validate";

/** A part of the panel that brings itself up to now. */
export interface Part {
  element: HTMLElement;
  update(): void;
}

export interface FieldOptions {
  label: string;
  /** Of the faults that are told here. */
  fault: Fault["field"];
  value: () => string;
  change: (text: string) => void;
  unit?: string;
  placeholder?: string;
  inputMode?: "decimal" | "numeric";
  /** Whether two texts mean the same, so that the one being typed stays. */
  same?: (a: string, b: string) => boolean;
}

export type FaultsOf = (field: Fault["field"]) => readonly Fault[];

let lastId = 0;

export function textField(options: FieldOptions, faultsOf: FaultsOf): Part {
  const id = `draw-field-${++lastId}`;
  const same = options.same ?? ((a, b) => a === b);
  const input = h("input", {
    id,
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    inputmode: options.inputMode,
    placeholder: options.placeholder,
    "aria-describedby": `${id}-fault`,
    "data-fault": options.fault,
    oninput: () => options.change(input.value),
  });
  const fault = h("p", { class: "draw-fault", id: `${id}-fault`, hidden: true });
  const control = options.unit ? h("span", { class: "draw-unit" }, input, h("span", { "aria-hidden": "true" }, options.unit)) : input;
  const label = h("label", { for: id }, options.label, options.unit ? h("span", { class: "visually-hidden" }, ` in ${options.unit}`) : null);
  const element = h("div", { class: "draw-field" }, label, control, fault);
  return {
    element,
    update() {
      const value = options.value();
      if (!same(input.value, value)) input.value = value;
      showFaults(fault, input, faultsOf(options.fault));
    },
  };
}

export function showFaults(target: HTMLElement, input: HTMLElement | null, faults: readonly Fault[]): void {
  setText(target, faults.map(({ text }) => text).join(" "));
  target.hidden = faults.length === 0;
  if (faults.length > 0) input?.setAttribute("aria-invalid", "true");
  else input?.removeAttribute("aria-invalid");
}

/** Texts of one number, as "12" and "12.0". */
export function sameNumber(a: string, b: string): boolean {
  return a.trim() !== "" && b.trim() !== "" && Number(a) === Number(b);
}

export function button(label: string, run: () => void, className = "button", ...content: (Node | string)[]): HTMLButtonElement {
  return h("button", { type: "button", class: className, onclick: run }, ...content, label);
}
