// One rule: what can be done with it, its form and JSON, and a dry run.

import { h, icon } from "../../dom";
import { announce, confirm } from "../../frame/dialog";
import { operations } from "../../frame/form";
import { explain, sentence, type Tagged } from "../../frame/request";
import type { Split } from "../../frame/split";
import type { Rule } from "../../model/rules";
import { emptyView, formatView } from "../../view";
import { highlight } from "../../ui/json";
import { deleteRule, fetchRule, patchRule, putRule, type ChangedRule } from "./api";
import { createDryRun } from "./dryrun";
import { createEditor } from "./editor";

export interface DetailActions {
  changed: (id: string) => void;
  gone: () => void;
}

export interface Detail {
  show: (id: string, file: string | undefined) => Promise<void>;
  make: (key: string, set: string) => void;
}

export function createDetail(split: Split, actions: DetailActions): Detail {
  /** Shows a rule again after a change, with the warnings of that. */
  const again = async (id: string, changed: ChangedRule): Promise<void> => {
    await show(id, undefined, changed.warnings);
    actions.changed(id);
  };

  const show = async (id: string, file: string | undefined, warnings: readonly string[] = []): Promise<void> => {
    let found: Tagged<Rule>;
    split.show(id, "Rule", id, h("p", { class: "note", "aria-busy": "true" }, "Loading…"));
    try {
      found = await fetchRule(id);
    } catch (error) {
      if (split.key === id) split.show(id, "Rule", id, h("p", { class: "note" }, explain(error)));
      return;
    }
    if (split.key !== id) return;
    const { value: rule, tag } = found;
    const off = rule.enabled === false;
    const remove = async (): Promise<void> => {
      const text = "Its events end, and what it has begun is forgotten. Other rules go on.";
      if (!(await confirm({ title: `Delete the rule ${id}?`, text, action: "Delete" }))) return;
      await deleteRule(id, tag);
      announce(`${id} is deleted.`);
      actions.gone();
    };
    const toggle = async (): Promise<void> => {
      await again(id, await patchRule(id, { enabled: off ? null : false }, tag));
      announce(off ? `${id} is on.` : `${id} is off.`);
    };
    const tools = file === undefined ? operations([off ? "Switch on" : "Switch off", toggle], ["Delete…", remove, "button danger-text"]) : operations();
    const events = h("a", { class: "button", href: `./${formatView({ ...emptyView, filter: { ...emptyView.filter, rule: id } })}` }, icon("list"), "Its events");
    tools.querySelector(".actions")?.prepend(events);
    const head = h(
      "section",
      { class: "part" },
      file === undefined ? null : h("p", { class: "hint" }, `It is changed in the file ${file}.`),
      ...warnings.map((warning) => h("p", { class: "warning" }, sentence(warning))),
      tools,
    );
    const save = async (next: Rule): Promise<void> => {
      await again(id, await putRule(id, next, tag));
      announce(`${id} is saved.`);
    };
    const editor = file === undefined ? createEditor({ rule, save, submit: "Save the rule" }) : h("section", { class: "part" }, h("pre", { class: "code", tabindex: 0 }, highlight(JSON.stringify(rule, null, 2))));
    split.show(id, off ? "Rule, switched off" : "Rule", id, head, editor, createDryRun(() => rule));
  };

  const make = (key: string, set: string): void => {
    const save = async (rule: Rule): Promise<void> => {
      const id = rule.id ?? "";
      if (id === "") throw new Error("The rule needs an id.");
      const changed = await putRule(id, rule, "new");
      announce(`${id} is added.`);
      await again(id, changed);
    };
    split.show(key, "New", "Add a rule", createEditor({ rule: { set }, fresh: true, save, submit: "Add the rule" }));
    document.querySelector<HTMLElement>(".split-detail input")?.focus();
  };

  return { show: (id, file) => show(id, file), make };
}

