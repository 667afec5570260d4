// The audit: what was changed, when, and with which key, page by page.

import { fill, h } from "../../dom";
import type { Address } from "../../frame/address";
import { textInput } from "../../frame/form";
import { explain } from "../../frame/request";
import { card } from "../../frame/split";
import { formatInstant } from "../../format";
import { Table } from "../../ui/table";
import { fetchAudit, type Change } from "./api";

/** A pause in typing after which is asked. */
const restMs = 300;

export function createAudit(address: Address): { element: HTMLElement; load: () => Promise<void> } {
  const table = new Table<Change>(
    "Changes",
    [
      { name: "When", text: ({ at }) => formatInstant(Date.parse(at)).slice(0, 19), hint: ({ at }) => formatInstant(Date.parse(at)) },
      { name: "Key", text: ({ by }) => by },
      { name: "From", text: ({ from }) => from ?? "" },
      { name: "Change", text: ({ action }) => action },
      { name: "Of", text: ({ object }) => object, hint: ({ object }) => object },
      { name: "Details", wide: true, text: ({ detail, failed }) => (failed === undefined ? (detail ?? "") : `not made: ${failed}`), hint: ({ detail, failed }) => failed ?? detail ?? "", state: ({ failed }) => (failed === undefined ? "" : "refused") },
    ],
    ({ id }) => id,
    true,
  );
  const note = h("p", { class: "note", hidden: true });
  const newer = h("button", { type: "button", class: "button", onclick: () => turn(-1) }, "Newer");
  const older = h("button", { type: "button", class: "button", onclick: () => turn(1) }, "Older");
  /** The places at which the pages begin; the last one is that of the page which is shown, or is to be. */
  let pages = [""];
  let wanted = pages;
  let next = "";
  let asked = 0;

  const load = async (): Promise<void> => {
    const turnOf = ++asked;
    const asking = wanted;
    try {
      const page = await fetchAudit({ by: address.get("by"), object: address.get("object"), before: asking.at(-1)! });
      if (turnOf !== asked) return;
      table.show(page.changes);
      pages = asking;
      next = page.next ?? "";
      fill(note, page.changes.length === 0 ? "No change is recorded." : "");
    } catch (error) {
      if (turnOf !== asked) return;
      wanted = pages;
      fill(note, explain(error));
    }
    note.hidden = note.textContent === "";
    newer.disabled = pages.length === 1;
    older.disabled = next === "";
  };
  /** Turns from the page that is shown, however often it is asked for before the other one is there. */
  const turn = (by: number): void => {
    if (by > 0 && next !== "") wanted = [...pages, next];
    else if (by < 0 && pages.length > 1) wanted = pages.slice(0, -1);
    void load();
  };
  const find = (name: "by" | "object", label: string): HTMLElement => {
    const input = textInput(address.get(name), { type: "search", placeholder: label, "aria-label": label });
    let timer: number | undefined;
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        address.go({ [name]: input.value.trim() }, true);
        wanted = pages = [""];
        next = "";
        void load();
      }, restMs);
    });
    return input;
  };
  const filter = h("search", { class: "filter" }, find("by", "Made with the key"), find("object", "Of the set, rule, key or object"));
  const box = card("Audit", [h("div", { class: "actions" }, newer, older)], filter, table.element, note);
  return { element: box.element, load };
}
