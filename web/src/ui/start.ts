// What a server without fences shows: how to give it some. A GeoJSON file that is dropped on the page becomes a set.

import { createSet } from "../api";
import type { App } from "../app";
import { fill, h, icon } from "../dom";
import { quoteForShell } from "../model/commands";
import { outcome, setName } from "../model/sets";
import { copyButton } from "./parts";

/** How long the good news stays. */
const goodNewsMs = 8_000;

export function createStart(app: App): HTMLElement {
  const said = h("p", { class: "start-said", role: "status", hidden: true });
  const command = `curl -T FILE ${quoteForShell(new URL("v1/sets/NAME", new URL(".", document.baseURI)).href)}`;
  const how = h(
    "div",
    { hidden: true },
    h("p", {}, h("strong", {}, "No fences yet."), " Drop a GeoJSON file here, start with ", h("code", {}, "--sets DIR"), ", or"),
    h("div", { class: "start-command" }, h("code", {}, command), copyButton("Copy the command", () => command)),
    h("p", { class: "start-note" }, "The files of DIR stay. Others stay in the data directory, if the server has one."),
  );
  const close = h("button", { type: "button", class: "icon-button", "aria-label": "Close what was said", hidden: true, onclick: () => say() }, icon("close"));
  const element = h("section", { class: "greeting card start", "aria-label": "How to add fences", hidden: true }, how, said, close);
  const show = (): void => {
    how.hidden = !app.catalog.listed.value || app.catalog.infos.value.length > 0;
    element.hidden = how.hidden && said.hidden;
  };
  const say = (...text: (string | HTMLElement)[]): void => {
    fill(said, ...text);
    said.hidden = close.hidden = text.length === 0;
    show();
  };
  app.catalog.listed.watch(show);
  app.catalog.infos.watch(show);
  let hide: number | undefined;
  let turn = Promise.resolve();
  takeDropped((files) => {
    turn = turn.then(async () => {
      clearTimeout(hide); // it was set for earlier files
      if (await add(app, files, say)) hide = window.setTimeout(() => say(), goodNewsMs);
    });
  });
  return element;
}

/** Hands over files that are dropped anywhere on the page. */
function takeDropped(take: (files: File[]) => void): void {
  const bringsFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  addEventListener("dragover", (event) => {
    if (!bringsFiles(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) document.body.classList.remove("dropping");
  });
  addEventListener("drop", (event) => {
    document.body.classList.remove("dropping");
    if (!bringsFiles(event)) return;
    event.preventDefault();
    take([...(event.dataTransfer?.files ?? [])]);
  });
}

/** Makes a set of each file, named after it; resolves to whether nothing was wrong with any of them. */
async function add(app: App, files: File[], say: (...text: (string | HTMLElement)[]) => void): Promise<boolean> {
  const lines: HTMLElement[] = [];
  let [made, good] = [0, true];
  const tell = (text: string, bad: boolean): void => {
    lines.push(h("span", { class: bad ? "line bad" : "line" }, text));
    if (bad) good = false;
  };
  for (const file of files) {
    const name = setName(file.name);
    say(...lines, `Adding ${file.name}…`);
    try {
      if (name === "") throw new Error("its name has no letter a-z and no digit, and the set is named after it");
      const report = await createSet(name, file);
      made++;
      tell(outcome(file.name, report), report.fences === 0 || report.reasons.length > 0);
    } catch (error) {
      tell(`${file.name}: ${error instanceof Error ? error.message : String(error)}`, true);
    }
    say(...lines);
  }
  await app.catalog.load();
  if (made > 0) app.map.value?.fit();
  return good;
}
