// Rows: the table of the other properties of a fence.

import { h, icon } from "../dom";
import type { Editor } from "./editor";
import { button, showFaults, type FaultsOf, type Part } from "./fields";

export function createRows(editor: Editor, faultsOf: FaultsOf): Part {
  const list = h("ul", { class: "draw-rows" });
  const fault = h("p", { class: "draw-fault", id: "draw-rows-fault", hidden: true });
  const add = button("Add a property", () => {
    editor.addRow();
    list.querySelector<HTMLInputElement>("li:last-child input")?.focus();
  }, "link");
  const make = (index: number): HTMLElement => {
    const field = (member: "name" | "value", label: string): HTMLInputElement => {
      const input = h("input", {
        type: "text",
        autocomplete: "off",
        spellcheck: "false",
        placeholder: label,
        "aria-label": `${label} of property ${index + 1}`,
        "aria-describedby": fault.id,
        "data-fault": "properties",
        oninput: () => editor.setRow(index, { [member]: input.value }),
      });
      return input;
    };
    const remove = h("button", {
      type: "button",
      class: "icon-button",
      "aria-label": `Remove property ${index + 1}`,
      title: "Remove",
      onclick: () => {
        editor.removeRow(index);
        (list.querySelector<HTMLElement>(`li:nth-child(${Math.max(1, index)}) input`) ?? add).focus();
      },
    }, icon("close"));
    return h("li", {}, field("name", "Name"), field("value", "Value"), remove);
  };
  return {
    element: h("section", { class: "part" }, h("h3", {}, "Other properties"), list, fault, add),
    update() {
      const { rows } = editor.draft.value;
      while (list.children.length > rows.length) list.lastElementChild!.remove();
      while (list.children.length < rows.length) list.append(make(list.children.length));
      for (const [i, { name, value }] of rows.entries()) {
        const inputs = list.children[i]!.querySelectorAll("input");
        if (inputs[0]!.value !== name) inputs[0]!.value = name;
        if (inputs[1]!.value !== value) inputs[1]!.value = value;
      }
      showFaults(fault, null, faultsOf("properties"));
    },
  };
}
