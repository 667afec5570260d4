// The page of the keys: a list, the details of one, and the audit below.

import { h, icon, setText } from "../../dom";
import { Address } from "../../frame/address";
import type { Frame } from "../../frame/frame";
import { textInput } from "../../frame/form";
import { countText } from "../../frame/overview";
import { card, itemLink, Split } from "../../frame/split";
import { watch } from "../../frame/watch";
import { formatInstant } from "../../format";
import { dayOf, keyState, scopeText } from "../../model/keys";
import { Table } from "../../ui/table";
import { fetchKeys, type Key } from "./api";
import { createAudit } from "./audit";
import { createDetail } from "./detail";

const making = "new key";
/** So many rows are drawn; the field finds the others. */
const mostRows = 500;

export function open(frame: Frame): void {
  const address = new Address();
  const split = new Split(() => address.go({ key: "" }));
  const choose = (key: string, replace = false): void => address.go({ key }, replace);
  const table = createTable(address, choose);
  const none = h("div", { class: "empty", hidden: true }, h("p", {}, h("strong", {}, "No keys yet."), " Without any, every client on this machine may do everything, and none on others. Add one for each device and program; the first should be yours, with admin."));
  const add = h("button", { type: "button", class: "button", onclick: () => make() }, icon("plus"), "Add a key");
  const find = textInput("", { type: "search", placeholder: "Find", "aria-label": "Find a key", maxlength: 200 });
  const filter = h("search", { class: "filter" }, find);
  const nothing = h("p", { class: "note", hidden: true }, "No key has this.");
  const list = card("Keys", [add], filter, table.element, none, nothing);
  const audit = createAudit(address);
  split.list.append(list.element, audit.element);
  frame.main.append(split.element);

  let known: Key[] = [];
  let words = "";
  find.addEventListener("input", () => {
    words = find.value.trim().toLowerCase();
    draw();
  });
  const draw = (): void => {
    const found = known.filter((key) => JSON.stringify(key).toLowerCase().includes(words));
    table.show(found.slice(0, mostRows));
    table.mark(address.get("key"));
    none.hidden = known.length > 0;
    nothing.hidden = known.length === 0 || found.length > 0;
    filter.hidden = known.length < 10 && words === "";
    setText(list.count, countText(Math.min(found.length, mostRows), found.length));
  };
  let answered = false;
  const poll = watch(frame, fetchKeys, (keys) => {
    known = keys;
    draw();
    if (!answered) {
      if (address.get("key") !== "") show();
      void audit.load();
    }
    answered = true;
  }, () => ["There are no keys here."]);
  const changed = (): void => {
    poll.now();
    void audit.load();
  };
  const detail = createDetail(split, {
    changed,
    gone: () => {
      choose("", true);
      changed();
    },
    made: (name) => {
      changed();
      choose(name, true);
    },
  });
  const show = (): void => {
    const name = address.get("key");
    table.mark(name);
    if (name === "") split.hide();
    else if (name !== split.key) detail.show(name, known.find((key) => key.name === name));
  };
  const make = (): void => {
    choose("");
    detail.make(making);
  };
  address.parameters.watch((now, before) => {
    if (now.key !== before.key) show();
  });
}

function createTable(address: Address, choose: (key: string) => void): Table<Key> {
  return new Table<Key>(
    "All keys",
    [
      { name: "Key", element: ({ name }) => itemLink(name, address.link({ key: name }), name, () => choose(name)) },
      { name: "May", wide: true, text: ({ verbs }) => verbs.join(", "), hint: ({ verbs }) => verbs.join("\n") },
      { name: "Fleets", text: ({ fleets }) => scopeText(fleets), hint: ({ fleets }) => fleets?.join("\n") ?? "" },
      { name: "Sets", text: ({ sets }) => scopeText(sets), hint: ({ sets }) => sets?.join("\n") ?? "" },
      { name: "Last use", title: "Since the server was started", text: ({ used }) => (used === undefined ? "–" : formatInstant(Date.parse(used)).slice(0, 16)), hint: ({ used }) => (used === undefined ? "Not used since the server was started" : formatInstant(Date.parse(used))) },
      { name: "Expires", text: ({ expires }) => dayOf(expires) || "never", hint: ({ expires }) => (expires === undefined ? "" : formatInstant(Date.parse(expires))) },
      { name: "State", text: keyState, state: ({ expired }) => (expired === true ? "refused" : "") },
    ],
    ({ name }) => name,
    true,
  );
}
