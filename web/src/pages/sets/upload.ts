// A GeoJSON file that becomes a set, or takes the place of one.

import type { Finding } from "../../api";
import { fill, h, icon } from "../../dom";
import { plural } from "../../format";
import { announce } from "../../frame/dialog";
import { field, form, textInput } from "../../frame/form";
import { findingPlace } from "../../model/setpage";
import { setName } from "../../model/sets";
import { putSet } from "./api";

export interface UploadOptions {
  /** The set that the file replaces, and its state; without one the file makes a set. */
  set?: { name: string; tag: string };
  done: (name: string) => Promise<void>;
  cancel?: () => void;
}

/** A place for a file: it is chosen, or dropped on it. */
function filePicker(chosen: (file: File) => void): { element: HTMLElement; file: () => File | undefined } {
  const name = h("span", { class: "drop-name" }, "Choose a GeoJSON file, or drop it here");
  const input = h("input", { type: "file", accept: ".geojson,.json,application/geo+json,application/json", "aria-label": "GeoJSON file" });
  const element = h("label", { class: "drop" }, icon("plus"), name, input);
  let file: File | undefined;
  const take = (given: File | undefined): void => {
    if (!given) return;
    file = given;
    name.textContent = `${given.name} is chosen`;
    chosen(given);
  };
  input.addEventListener("change", () => take(input.files?.[0]));
  element.addEventListener("dragover", (event) => {
    event.preventDefault();
    element.classList.add("over");
  });
  element.addEventListener("dragleave", () => element.classList.remove("over"));
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    element.classList.remove("over");
    take(event.dataTransfer?.files[0]);
  });
  return { element, file: () => file };
}

export function createUpload({ set, done, cancel }: UploadOptions): HTMLElement {
  const name = textInput("", { maxlength: 128 });
  const picker = filePicker((file) => {
    if (name.value === "") name.value = setName(file.name);
  });
  const result = h("div", { class: "upload-result", role: "status" });
  let tag = set?.tag ?? "new";
  const send = async (): Promise<void> => {
    const file = picker.file();
    if (!file) throw new Error("Choose a file first.");
    const target = set?.name ?? name.value.trim();
    if (target === "") throw new Error("The set needs a name.");
    const report = await putSet(target, file, tag);
    if (set) tag = report.etag;
    announce(`${target} has ${plural(report.fences, "fence")} now.`);
    if (report.reasons.length === 0) return done(target);
    fill(
      result,
      h("p", {}, h("strong", {}, `${target} has ${plural(report.fences, "fence")} now`), `, with ${plural(report.reasons.length, "finding")}:`),
      findingList(report.reasons),
      h("button", { type: "button", class: "button", onclick: () => void done(target) }, "Go on"),
    );
  };
  const fields = set ? [picker.element] : [picker.element, field("Name of the set", name, "Letters, digits, - and _. Events and rules name it.")];
  return h("div", { class: "part" }, form({ label: "Upload", fields, submit: set ? "Replace the fences" : "Add the set", send, ...(cancel ? { cancel } : {}) }), result);
}

/** Findings, each with its place. */
export function findingList(reasons: readonly Finding[], link?: (fence: string) => string): HTMLElement {
  const items = reasons.map((finding) => {
    const place = findingPlace(finding);
    const where = finding.fence !== undefined && link ? h("a", { class: "link", href: link(finding.fence) }, place) : h("span", {}, place);
    return h("li", {}, where, h("span", {}, finding.reason), finding.refused ? h("strong", { class: "tag bad" }, "left out") : null);
  });
  return h("ul", { class: "findings" }, ...items);
}
