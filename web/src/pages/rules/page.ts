// The page of the rules: a list with a filter, and the details of one.

import { h, icon, setText } from "../../dom";
import { Address } from "../../frame/address";
import type { Frame } from "../../frame/frame";
import { select, textInput } from "../../frame/form";
import { countText } from "../../frame/overview";
import { card, itemLink, Split } from "../../frame/split";
import { watch } from "../../frame/watch";
import { formatCount } from "../../format";
import { fencesText, matches, objectsText, tellsText, type Rule } from "../../model/rules";
import { Table } from "../../ui/table";
import { fetchRules, type RuleList } from "./api";
import { createDetail } from "./detail";

const making = "new rule";
/** So many rows are drawn; the filter finds the others. */
const mostRows = 500;

/** "7", "7 of 12", or "the first 500 of 1,234". */
function listCount(found: number, all: number): string {
  return found > mostRows ? countText(mostRows, found) : found < all ? `${formatCount(found)} of ${formatCount(all)}` : formatCount(all);
}

export function open(frame: Frame): void {
  const address = new Address();
  const split = new Split(() => address.go({ rule: "" }));
  const choose = (rule: string, replace = false): void => address.go({ rule }, replace);
  let known: RuleList = { rules: [] };
  const table = createTable(address, choose, (id) => known.files?.[id]);
  const none = h("div", { class: "empty", hidden: true }, h("p", {}, h("strong", {}, "No rules yet."), " Without any rule every set tells enter and exit of all its fences. A rule tells more, or less: long stays, speed, hours, objects that meet."));
  const nothing = h("p", { class: "note", hidden: true }, "No rule has this.");
  const add = h("button", { type: "button", class: "button", onclick: () => make() }, icon("plus"), "Add a rule");
  const filter = createFilter(address);
  const list = card("Rules", [add], filter.element, table.element, none, nothing);
  split.list.append(list.element);
  frame.main.append(split.element);

  const draw = (): void => {
    const set = address.get("set");
    const shown = known.rules.filter((rule) => (set === "" || rule.set === set) && matches(rule, address.get("q")));
    table.show(shown.slice(0, mostRows));
    table.mark(address.get("rule"));
    filter.show(known.rules);
    none.hidden = known.rules.length > 0;
    nothing.hidden = known.rules.length === 0 || shown.length > 0;
    filter.element.hidden = known.rules.length === 0;
    setText(list.count, listCount(shown.length, known.rules.length));
  };
  let answered = false;
  const poll = watch(frame, fetchRules, (answer) => {
    known = answer;
    draw();
    if (!answered && address.get("rule") !== "") show();
    answered = true;
  }, () => ["There are no rules here."]);
  const detail = createDetail(split, {
    changed: (id) => {
      poll.now();
      choose(id, true);
    },
    gone: () => {
      choose("", true);
      poll.now();
    },
  });
  const show = (): void => {
    const id = address.get("rule");
    table.mark(id);
    if (id === "") split.hide();
    else if (id !== split.key) void detail.show(id, known.files?.[id]);
  };
  const make = (): void => {
    choose("");
    detail.make(making, address.get("set"));
  };
  address.parameters.watch((now, before) => {
    draw();
    if (now.rule !== before.rule) show();
  });
}

function createFilter(address: Address): { element: HTMLElement; show: (rules: readonly Rule[]) => void } {
  const text = textInput(address.get("q"), { type: "search", placeholder: "Find", "aria-label": "Find a rule", maxlength: 200 });
  text.addEventListener("input", () => address.go({ q: text.value.trim() }, true));
  const set = select([["", "All sets"]], address.get("set"));
  set.ariaLabel = "Set";
  set.addEventListener("change", () => address.go({ set: set.value }, true));
  let sets = "";
  const show = (rules: readonly Rule[]): void => {
    const names = [...new Set([...rules.map((rule) => rule.set ?? ""), address.get("set")])].filter(Boolean).sort();
    if (names.join("\n") === sets) return;
    sets = names.join("\n");
    set.replaceChildren(...select([["", "All sets"], ...names.map((name) => [name, name] as const)], "").children);
    set.value = address.get("set");
  };
  return { element: h("search", { class: "filter" }, text, set), show };
}

function createTable(address: Address, choose: (rule: string) => void, file: (id: string) => string | undefined): Table<Rule> {
  const id = (rule: Rule): string => rule.id ?? "";
  return new Table<Rule>(
    "All rules",
    [
      { name: "Rule", element: (rule) => itemLink(id(rule), address.link({ rule: id(rule) }), id(rule), () => choose(id(rule))) },
      { name: "State", text: ({ enabled }) => (enabled === false ? "off" : "on"), state: ({ enabled }) => (enabled === false ? "away" : "") },
      { name: "Set", text: (rule) => rule.set ?? "–" },
      { name: "Tells", wide: true, text: tellsText, hint: tellsText },
      { name: "Fences", text: fencesText, hint: fencesText },
      { name: "Objects", text: objectsText, hint: objectsText },
      { name: "Source", text: (rule) => file(id(rule)) ?? "HTTP" },
    ],
    id,
    true,
  );
}
