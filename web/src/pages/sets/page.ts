// The page of the sets: a list, and the details of one.

import { fill, h, icon, setText } from "../../dom";
import { Address } from "../../frame/address";
import type { Frame } from "../../frame/frame";
import { card, itemLink, Split } from "../../frame/split";
import { watch } from "../../frame/watch";
import { formatBytes, formatCount } from "../../format";
import { indexText } from "../../model/setpage";
import { Table } from "../../ui/table";
import { fetchSets, type ListedSet, type ListedSets, type SetSource } from "./api";
import { createDetail } from "./detail";
import { createUpload } from "./upload";

/** The key of the details in which a set is made. */
const making = "new set";

export function open(frame: Frame): void {
  const address = new Address();
  const split = new Split(() => address.go({ set: "" }));
  const choose = (set: string): void => address.go({ set });
  const table = createTable(address, choose);
  const none = h("div", { class: "empty", hidden: true }, h("p", {}, h("strong", {}, "No sets yet."), " Events come from fences, and fences are in sets. Add a GeoJSON file, or start the server with ", h("code", {}, "--sets DIR"), "."));
  const failing = h("ul", { class: "failing" });
  const add = h("button", { type: "button", class: "button", onclick: () => showUpload() }, icon("plus"), "Add a set");
  const list = card("Sets", [add], failing, table.element, none);
  split.list.append(list.element);
  frame.main.append(split.element);

  let known: ListedSets = { sets: [] };
  let shown = false;
  const take = (answer: ListedSets): void => {
    known = answer;
    table.show(answer.sets);
    table.mark(address.get("set"));
    none.hidden = answer.sets.length > 0;
    setText(list.count, formatCount(answer.sets.length));
    fill(failing, ...(answer.failing ?? []).map(failingFile));
    failing.hidden = failing.childElementCount === 0;
    if (!shown && address.get("set") !== "") showSet();
    shown = true;
    detail.update(find(address.get("set")));
  };
  const poll = watch(frame, fetchSets, take, () => ["There are no sets here."]);
  const find = (name: string): ListedSet | undefined => known.sets.find((set) => set.name === name);
  const detail = createDetail(split, { changed: () => poll.now(), gone: () => {
    address.go({ set: "" }, true);
    poll.now();
  } });

  const showSet = (): void => {
    const name = address.get("set");
    table.mark(name);
    if (name === "") split.hide();
    else detail.show(name, find(name));
  };
  const showUpload = (): void => {
    address.go({ set: "" });
    const done = async (name: string): Promise<void> => {
      take(await fetchSets());
      choose(name);
    };
    split.show(making, "New", "Add a set", createUpload({ done }));
  };
  address.parameters.watch(showSet);
}

function createTable(address: Address, choose: (set: string) => void): Table<ListedSet> {
  return new Table<ListedSet>(
    "All sets",
    [
      { name: "Set", element: ({ name }) => itemLink(name, address.link({ set: name }), name, () => choose(name)) },
      { name: "Fences", number: true, text: ({ fences }) => formatCount(fences) },
      { name: "Findings", title: "Faults in its data", number: true, text: ({ findings }) => formatCount(findings), state: ({ findings }) => (findings > 0 ? "away" : "") },
      { name: "Index", text: ({ kind, index }) => indexText(kind, index.kind), hint: ({ index }) => (index.building ? "Another one is being built" : "") },
      { name: "Memory", title: "Of the index, beside the fences themselves", number: true, text: ({ index }) => formatBytes(index.bytes) },
      { name: "Changes", title: "The generation: it counts the changes of the set", number: true, text: ({ generation }) => formatCount(generation) },
      { name: "Source", text: ({ source }) => source?.file ?? "HTTP", hint: ({ source }) => source?.error ?? "", state: ({ source }) => (source?.error === undefined ? "" : "refused") },
    ],
    ({ name }) => name,
    true,
  );
}

function failingFile({ file, error }: SetSource): HTMLElement {
  // Errors about a place in the file begin with its name.
  const why = error?.startsWith(`${file}:`) ? error.slice(file.length) : ` ${error ?? "could not be read"}`;
  return h("li", { class: "notice bad" }, h("strong", {}, file === "." ? "The directory of sets" : file), why);
}
