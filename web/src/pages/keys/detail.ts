// One key: what it may do, a change of that, a new secret, and its end. And the form of a new one.

import { h } from "../../dom";
import { announce, confirm } from "../../frame/dialog";
import { checkBox, field, form, group, operations, textArea, textInput } from "../../frame/form";
import { secretPanel } from "../../frame/secret";
import type { Split } from "../../frame/split";
import { dayOf, keyChange, keyForm, scopeText } from "../../model/keys";
import { pairs, type Pair } from "../../ui/parts";
import { ago, clockTime } from "../../ui/time";
import { addKey, changeKey, deleteKey, rotateKey, verbs, type Key, type KeyChange } from "./api";

const onceHint = "is shown this once: the server keeps no copy of it.";

export interface DetailActions {
  changed: () => void;
  gone: () => void;
  made: (name: string) => void;
}

export interface Detail {
  show: (name: string, key: Key | undefined) => void;
  make: (key: string) => void;
}

export function createDetail(split: Split, actions: DetailActions): Detail {
  const show = (name: string, key: Key | undefined, secret = ""): void => {
    if (!key) return split.show(name, "Key", name, h("p", { class: "note" }, "There is no key of this name."));
    const once = secret === "" ? null : h("div", { class: "part" }, secretPanel(`The secret of ${name}`, secret, onceHint, () => show(name, key)));
    const rotate = async (): Promise<void> => {
      const text = "The present secret ends at once, with all that it has open. The new one is shown once.";
      if (!(await confirm({ title: `Give ${name} a new secret?`, text, action: "New secret" }))) return;
      const changed = await rotateKey(name);
      actions.changed();
      show(name, changed, changed.secret);
    };
    const remove = async (): Promise<void> => {
      const text = "It ends at once, with all that it has open. What uses it needs another one.";
      if (!(await confirm({ title: `Delete the key ${name}?`, text, action: "Delete" }))) return;
      await deleteKey(name);
      announce(`${name} is deleted.`);
      actions.gone();
    };
    const change = async (next: KeyChange): Promise<void> => {
      const changed = await changeKey(name, next);
      announce(`${name} is saved.`);
      actions.changed();
      show(name, changed);
    };
    const ofFile = key.file === true;
    const tools = ofFile ? h("p", { class: "hint" }, "It is of the configuration file, and changed there.") : operations(["New secret…", rotate], ["Delete…", remove, "button danger-text"]);
    const editor = ofFile ? null : h("section", { class: "part" }, createForm({ key, submit: "Save the key", send: change }));
    split.show(name, key.expired === true ? "Key, expired" : "Key", name, once, h("section", { class: "part" }, facts(key), tools), editor);
  };

  const make = (at: string): void => {
    const send = async (next: KeyChange): Promise<void> => {
      const made = await addKey(next);
      announce(`${made.name} is added. Its secret is shown once.`);
      show(made.name, made, made.secret);
      actions.made(made.name);
    };
    split.show(at, "New", "Add a key", h("section", { class: "part" }, createForm({ submit: "Add the key", send })));
    document.querySelector<HTMLElement>(".split-detail input")?.focus();
  };

  return { show: (name, key) => show(name, key), make };
}

function facts(key: Key): HTMLElement {
  const rows: Pair[] = [
    ["May", key.verbs.join(", ")],
    ["Fleets", scopeText(key.fleets)],
    ["Sets", scopeText(key.sets)],
    ["Last use", key.used === undefined ? "not since the server was started" : ago(key.used)],
    ["Expires", key.expires === undefined ? "never" : h("span", {}, `${dayOf(key.expires)} `, clockTime(key.expires))],
  ];
  if (key.created !== undefined) rows.push(["Made", ago(key.created)]);
  return pairs(rows);
}

interface KeyFormOptions {
  key?: Key;
  submit: string;
  send: (key: KeyChange) => Promise<void>;
}

function createForm({ key, submit, send }: KeyFormOptions): HTMLElement {
  const name = textInput("", { maxlength: 64 });
  const boxes = verbs.map(([verb, meaning]) => checkBox(h("span", {}, h("code", {}, verb), h("span", { class: "hint" }, ` ${meaning}`)), key?.verbs.includes(verb) ?? false, verb));
  const now = keyForm(key);
  const fleets = textArea(now.fleets, 2, { placeholder: "all" });
  const sets = textArea(now.sets, 2, { placeholder: "all" });
  const expires = textInput(now.expires);
  expires.type = "date";
  const read = (): KeyChange => {
    const chosen = boxes.filter(({ input }) => input.checked).map(({ input }) => input.value);
    if (!key && name.value.trim() === "") throw new Error("The key needs a name.");
    if (chosen.length === 0) throw new Error("Choose what the key may do.");
    const change = keyChange({ verbs: chosen, fleets: fleets.value, sets: sets.value, expires: expires.value }, key);
    return key ? change : { name: name.value.trim(), ...change };
  };
  const fields = [
    key ? null : field("Name", name, "Of the device or program. The audit names it."),
    group("May", h("div", { class: "checks one" }, ...boxes.map(({ element }) => element))),
    h("div", { class: "fields-2" }, field("Only these fleets", fleets, "One a line."), field("Only these sets", sets, "One a line.")),
    field("Expires at the end of", expires, "Empty: never."),
  ];
  return form({ label: "Key", fields, submit, send: () => send(read()) });
}
