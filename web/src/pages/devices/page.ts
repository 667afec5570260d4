// The page of the devices: the doors with their counts, the rejections of one, and the panel for a new phone.

import { fill, h, icon, setText } from "../../dom";
import { Address } from "../../frame/address";
import type { Frame } from "../../frame/frame";
import { card, itemLink, Split } from "../../frame/split";
import { watch } from "../../frame/watch";
import { formatCount, formatInstant } from "../../format";
import { sourceText } from "../../model/devices";
import { pairs, section, updatePairs, type Pair } from "../../ui/parts";
import { Table } from "../../ui/table";
import { fetchDoors, type Door, type DoorRejection } from "./api";
import { createPhone } from "./phone";

const adding = "new phone";

export function open(frame: Frame): void {
  const address = new Address();
  const split = new Split(() => address.go({ door: "" }));
  const choose = (door: string): void => address.go({ door });
  const table = createTable(address, choose);
  const none = h("div", { class: "empty", hidden: true }, h("p", {}, h("strong", {}, "No door is open yet."), " Send a position, or add a phone."));
  const add = h("button", { type: "button", class: "button", onclick: () => phone() }, icon("phone"), "New phone");
  const list = card("Doors", [add], table.element, none);
  split.list.append(list.element);
  frame.main.append(split.element);
  let update: (door: Door) => void = () => undefined;
  let known: Door[] = [];
  let answered = false;
  watch(frame, fetchDoors, (doors) => {
    known = doors;
    table.show(doors);
    table.mark(address.get("door"));
    none.hidden = doors.length > 0;
    setText(list.count, formatCount(doors.length));
    const shown = doors.find(({ name }) => name === split.key);
    if (shown) update(shown);
    if (!answered && address.get("door") !== "") show();
    answered = true;
  }, () => ["There are no doors here."]);
  const show = (): void => {
    const name = address.get("door");
    table.mark(name);
    if (name === "") return split.hide();
    const door = known.find((each) => each.name === name);
    if (!door) return split.show(name, "Door", name, h("p", { class: "note" }, "There is no door of this name."));
    const view = createDoor();
    update = (now) => view.show(now);
    view.show(door);
    split.show(name, door.source ? "Source" : "Door", name, ...view.parts);
  };
  const phone = (): void => {
    choose("");
    split.show(adding, "New", "New phone", createPhone());
    document.querySelector<HTMLElement>(".split-detail input")?.focus();
  };
  address.parameters.watch(show);
}

function createTable(address: Address, choose: (door: string) => void): Table<Door> {
  return new Table<Door>(
    "All doors",
    [
      { name: "Door", element: ({ name }) => itemLink(name, address.link({ door: name }), name, () => choose(name)) },
      { name: "Source", text: ({ source }) => sourceText(source).word || "–", state: ({ source }) => sourceText(source).colour, hint: ({ source }) => source?.error ?? source?.address ?? "" },
      { name: "Accepted", number: true, text: ({ accepted }) => formatCount(accepted) },
      { name: "Late", title: "Not newer than the object's last position", number: true, text: ({ late }) => formatCount(late) },
      { name: "Outliers", title: "Too far from the position before", number: true, text: ({ outliers }) => formatCount(outliers) },
      { name: "Ignored", title: "Messages that are no positions", number: true, text: ({ ignored }) => formatCount(ignored) },
      { name: "Rejected", number: true, text: ({ rejected }) => formatCount(rejected), state: ({ rejected }) => (rejected > 0 ? "refused" : "") },
      { name: "Last rejection", wide: true, text: ({ last }) => last[0]?.reason ?? "", hint: ({ last }) => last[0]?.reason ?? "" },
    ],
    ({ name }) => name,
    true,
  );
}

function createDoor(): { parts: HTMLElement[]; show: (door: Door) => void } {
  const counts = pairs([]);
  const reasons = section("Rejections by reason");
  const reasonPairs = pairs([]);
  const last = section("Last rejections");
  const list = h("ul", { class: "rejections" });
  const note = h("p", { class: "note" }, "None since the server was started.");
  let shown = "";
  reasons.content.append(reasonPairs);
  last.content.append(list, note);
  const show = (door: Door): void => {
    updatePairs(counts, countRows(door));
    const sorted = Object.entries(door.reasons).sort(([, a], [, b]) => b - a);
    updatePairs(reasonPairs, sorted.map(([reason, n]) => [reason.replaceAll("_", " "), formatCount(n)]));
    reasons.element.hidden = sorted.length === 0;
    const text = JSON.stringify(door.last);
    if (text === shown) return; // a selection of its text stays
    shown = text;
    fill(list, ...door.last.map(rejection));
    note.hidden = door.last.length > 0;
  };
  return { parts: [h("section", { class: "part" }, counts), reasons.element, last.element], show };
}

function countRows({ accepted, late, outliers, ignored, rejected, source }: Door): Pair[] {
  const rows: Pair[] = [];
  if (source) {
    rows.push(["Connection", h("strong", { class: `state-word ${sourceText(source).colour}` }, sourceText(source).word)], ["Address", source.address]);
    if (source.error !== undefined && source.error !== "") rows.push(["Last error", source.error]);
    rows.push(["Messages", formatCount(source.messages)], ["Connected", `${formatCount(source.connects)} times`], ["Failures", formatCount(source.failures)], ["Dropped", formatCount(source.dropped)]);
  }
  rows.push(["Accepted", formatCount(accepted)], ["Late", formatCount(late)], ["Outliers", formatCount(outliers)], ["Ignored", formatCount(ignored)], ["Rejected", formatCount(rejected)]);
  return rows;
}

function rejection({ t, object, field, reason, input }: DoorRejection): HTMLElement {
  const at = h("time", { datetime: t }, formatInstant(Date.parse(t)).slice(0, 19));
  return h(
    "li",
    {},
    h("p", {}, at, object === undefined ? null : h("strong", {}, object), field === undefined ? null : h("code", {}, field)),
    h("p", { class: "bad" }, reason),
    input === undefined ? null : h("pre", { class: "code wrap", tabindex: 0 }, input),
  );
}
