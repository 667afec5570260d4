// Form: what a fence is called, where it is stored, its measures as numbers, and its settings.

import type { SetInfo } from "../api";
import { fill, h, setText } from "../dom";
import { setName } from "../model/sets";
import type { Editor } from "./editor";
import { sameNumber, showFaults, textField, type FaultsOf, type Part } from "./fields";

const newSet = "";

/** Which set and which id; of a stored fence only told. */
export function createTarget(editor: Editor, sets: readonly SetInfo[], mayMake: boolean, faultsOf: FaultsOf): Part {
  const fault = h("p", { class: "draw-fault", id: "draw-set-fault", hidden: true });
  const choices = sets.map(({ name }) => h("option", { value: name }, name));
  const select = h(
    "select",
    { id: "draw-set", "aria-describedby": fault.id, "data-fault": "set", onchange: () => editor.setTarget(select.value === newSet ? { set: "", newSet: true } : { set: select.value, newSet: false }) },
    ...choices,
    mayMake ? h("option", { value: newSet }, "New set…") : null,
  );
  const made = h("input", {
    type: "text",
    class: "draw-new-set",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Name of the new set",
    "aria-label": "Name of the new set",
    "aria-describedby": fault.id,
    "data-fault": "set",
    oninput: () => editor.setTarget({ set: made.value.trim(), newSet: true }),
    // As a file's name becomes the name of a set.
    onchange: () => editor.setTarget({ set: setName(`${made.value}.`), newSet: true }),
  });
  const id = textField({ label: "Id", fault: "id", value: () => editor.target.value.id, change: (text) => editor.setTarget({ id: text.trim() }) }, faultsOf);
  const source = h("p", { class: "draw-notice", hidden: true });
  return {
    element: h("div", { class: "draw-form" }, h("div", { class: "draw-field" }, h("label", { for: select.id }, "Set"), select, made, fault), id.element, source),
    update() {
      const { set, newSet: isNew } = editor.target.value;
      // A set that was made for this fence, which could not be stored then.
      if (!isNew && ![...select.options].some(({ value }) => value === set)) select.prepend(h("option", { value: set }, set));
      select.value = isNew ? newSet : set;
      made.hidden = !isNew;
      if (isNew && document.activeElement !== made) made.value = set;
      const fixed = editor.stored !== null;
      select.disabled = fixed;
      for (const input of id.element.querySelectorAll("input")) input.readOnly = fixed;
      const file = isNew ? undefined : sets.find(({ name }) => name === set)?.source?.file;
      source.hidden = file === undefined;
      setText(source, file === undefined ? "" : `${set} is read from the file ${file}. When that file changes, it replaces what is saved here.`);
      showFaults(fault, isNew ? made : select, faultsOf("set"));
      id.update();
    },
  };
}

/** The name, and the numbers of its form: the radius of a circle, the buffer of a line. */
export function createBasics(editor: Editor, faultsOf: FaultsOf): Part {
  const name = textField({ label: "Name", fault: "properties", value: () => editor.draft.value.name, change: (text) => editor.setName(text) }, () => []);
  const radius = textField(
    {
      label: "Radius",
      unit: "m",
      fault: "radius",
      inputMode: "decimal",
      value: () => {
        const { shape } = editor.draft.value;
        return shape?.kind === "circle" ? String(Math.round(shape.radius * 100) / 100) : "";
      },
      change: (text) => editor.setRadius(Number(text)),
      same: (a, b) => a === b || sameNumber(a, b),
    },
    faultsOf,
  );
  const buffer = settingField(editor, faultsOf, "buffer", "Distance to each side", "m", "a line only");
  const crossed = h("p", { class: "note", hidden: true }, "A line has no inside. Rules that detect cross tell of the vehicles that cross it.");
  return {
    element: h("div", { class: "draw-form" }, name.element, radius.element, buffer.element, crossed),
    update() {
      const { shape } = editor.draft.value;
      radius.element.hidden = shape?.kind !== "circle";
      buffer.element.hidden = shape?.kind !== "line";
      crossed.hidden = shape?.kind !== "line" || editor.buffer !== null;
      for (const part of [name, radius, buffer]) part.update();
    },
  };
}

function settingField(editor: Editor, faultsOf: FaultsOf, name: string, label: string, unit?: string, placeholder?: string): Part {
  return textField(
    {
      label,
      fault: `setting-${name}`,
      value: () => editor.draft.value.settings[name] ?? "",
      change: (text) => editor.setSetting(name, text),
      ...(unit === undefined ? {} : { unit, inputMode: "decimal" }),
      ...(placeholder === undefined ? {} : { placeholder }),
    },
    faultsOf,
  );
}

/** Height, and how much it takes to enter and leave this fence alone; closed as long as none of it is given. */
export function createSettings(editor: Editor, faultsOf: FaultsOf): Part {
  const pair = (...fields: Part[]): HTMLElement => h("div", { class: "draw-pair" }, ...fields.map(({ element }) => element));
  const field = (name: string, label: string, unit?: string, placeholder?: string): Part => settingField(editor, faultsOf, name, label, unit, placeholder);
  const floor = field("floor", "From height", "m", "any");
  const ceiling = field("ceiling", "Below height", "m", "any");
  const metres = field("metres", "Distance beyond it", "m", "of the set");
  const fixes = field("fixes", "Positions in a row", undefined, "of the set");
  const enter = field("enter_after", "Enters after", undefined, "such as 90s");
  const exit = field("exit_after", "Leaves after", undefined, "such as 5m");
  const parts = [floor, ceiling, metres, fixes, enter, exit];
  const given = (names: readonly string[]): boolean => names.some((name) => (editor.draft.value.settings[name] ?? "") !== "");
  const group = (title: string, text: string, names: readonly string[], ...content: HTMLElement[]): HTMLDetailsElement =>
    h("details", { class: "part draw-points", open: given(names) }, h("summary", {}, title), h("p", { class: "note" }, text), ...content);
  const element = h("div", {});
  fill(
    element,
    group("Height", "It holds positions whose altitude is between the two.", ["floor", "ceiling"], pair(floor, ceiling)),
    group(
      "When a change counts",
      "Of this fence alone; empty fields are as its set has them.",
      ["metres", "fixes", "enter_after", "exit_after"],
      pair(metres, fixes),
      pair(enter, exit),
    ),
  );
  return {
    element,
    update() {
      for (const part of parts) part.update();
      for (const details of element.querySelectorAll("details")) if (details.querySelector("[aria-invalid]")) details.open = true;
    },
  };
}
