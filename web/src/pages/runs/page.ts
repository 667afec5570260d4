// The page of the lab's runs: a table, and two runs beside each other.

import { fill, h, setText } from "../../dom";
import { Address } from "../../frame/address";
import { announce } from "../../frame/dialog";
import type { Frame } from "../../frame/frame";
import { countText, overviewCard } from "../../frame/overview";
import { watch } from "../../frame/watch";
import { formatBoth, formatInstant } from "../../format";
import { choose, compare, loadText, objectivesText, outcomeState, rateText, shareText, timeText, verdictState, type Line, type Pair } from "../../model/runs";
import { Table, type Column } from "../../ui/table";
import { fetchRuns, reportURL, type Run, type RunList, type RunSummary } from "./api";

/** A run takes seconds at least, so the list is asked for calmly. */
const everyMs = 10_000;
const newestFirst = "-began";

export function open(frame: Frame): void {
  const address = new Address();
  let known: RunList | undefined;
  const boxes = new Map<string, HTMLInputElement>();
  const pair = (): Pair => [address.get("a"), address.get("b")];
  const pick = (name: string): void => {
    const [a, b] = choose(pair(), name);
    address.go({ a, b }, true);
    if (b !== "") comparison.element.scrollIntoView({ block: "nearest" });
    announce(b === "" ? (a === "" ? "No run is selected." : `${a} is selected.`) : `${a} and ${b} are compared.`);
  };
  const table = new Table<Run>("Runs", columns(boxes, pick), ({ name, report }) => `${report ? 1 : 0} ${name}`, true);
  table.sorts(address.get("sort") || newestFirst, (sort) => address.go({ sort: sort === newestFirst ? "" : sort }, true));
  const none = h("div", { class: "empty", hidden: true });
  const more = h("p", { class: "note", hidden: true });
  const list = overviewCard("Runs", table.element, none, more);
  const comparison = createComparison(() => address.go({ a: "", b: "" }, true));
  frame.main.classList.add("overview", "runs");
  frame.main.append(h("div", { class: "overview-wide" }, comparison.element, list.element));

  const draw = (): void => {
    if (!known) return;
    const { runs, runs_all, complete, directory } = known;
    table.order(address.get("sort") || newestFirst);
    table.show(runs);
    for (const { name } of runs) {
      const box = boxes.get(name);
      if (box) box.checked = pair().includes(name);
    }
    setText(list.count, countText(runs.length, runs_all));
    none.hidden = runs.length > 0;
    if (runs.length === 0) fill(none, h("p", {}, h("strong", {}, "No runs yet."), " This makes one, with its report:"), h("p", {}, h("code", {}, `paddock bench http URL --out ${directory}/NAME`)));
    more.hidden = complete;
    setText(more, `${directory} has too many entries: some were not looked at.`);
    comparison.show(pair(), runs);
  };
  address.parameters.watch(draw);
  watch(frame, fetchRuns, (answer) => {
    known = answer;
    draw();
  }, () => ["This server has no directory of runs: ", h("code", {}, "dashboard.runs"), " names one."], everyMs);
}

/** A column of what is known of a run. */
function of(name: string, text: (summary: RunSummary) => string, more: Partial<Column<Run>> = {}): Column<Run> {
  return { name, text: ({ summary }) => (summary ? text(summary) : "–"), ...more };
}

/** A column of a number, by which the rows can be ordered. */
function number(name: string, value: (summary: RunSummary) => number | null, text: (value: number | null) => string, title?: string): Column<Run> {
  const column = of(name, (summary) => text(value(summary)), { number: true, order: ({ summary }) => (summary ? value(summary) : null) });
  if (title !== undefined) column.title = title;
  return column;
}

function columns(boxes: Map<string, HTMLInputElement>, pick: (name: string) => void): Column<Run>[] {
  const nameCell = ({ name }: Run): HTMLElement => {
    const box = h("input", { type: "checkbox", onchange: () => pick(name) });
    boxes.set(name, box);
    return h("label", { class: "check", title: name }, box, h("span", {}, name));
  };
  const report = ({ name, report: present }: Run): HTMLElement =>
    present ? h("a", { class: "link", href: reportURL(name), target: "_blank", rel: "noopener", "aria-label": `Report of ${name}` }, "Report") : h("span", {}, "–");
  return [
    { name: "Run", title: "Select two to compare them", element: nameCell, order: ({ name }) => name },
    { name: "Began", text: ({ summary, modified }) => formatInstant(Date.parse(summary?.began ?? modified)).slice(0, 16), hint: ({ summary, modified }) => formatBoth(Date.parse(summary?.began ?? modified)), order: ({ summary, modified }) => Date.parse(summary?.began ?? modified) },
    { name: "Load", wide: true, text: ({ summary, error }) => error ?? (summary ? loadText(summary) : "–"), hint: ({ summary, error }) => error ?? summary?.command ?? "", state: ({ error }) => (error === undefined ? "" : "refused") },
    of("Target", ({ target }) => target, { hint: ({ summary }) => summary?.driver ?? "", order: ({ summary }) => summary?.target ?? null }),
    number("Good/s", ({ rate }) => rate, rateText, "Good answers a second"),
    number("p50", ({ p50_ns }) => p50_ns, timeText, "Response time"),
    number("p99", ({ p99_ns }) => p99_ns, timeText, "Response time"),
    number("Max", ({ max_ns }) => max_ns, timeText, "Response time"),
    number("Errors", ({ errors }) => errors, shareText, "Share of the requests that failed or had no answer"),
    of("Generator", ({ verdict, interrupted }) => verdict + (interrupted ? ", interrupted" : ""), { title: "Whether the numbers are the service's: red means that the load generator set them", hint: ({ summary }) => summary?.verdict_text ?? "", state: ({ summary }) => (summary ? verdictState(summary) : "") }),
    of("Objectives", objectivesText, { hint: ({ summary }) => (summary?.objectives ?? []).map(({ objective, outcome, text }) => `${outcome} ${objective}: ${text}`).join("\n"), state: ({ summary }) => (summary ? outcomeState(summary) : "") }),
    { name: "Report", element: report },
  ];
}

/** The card of the selected runs. It is not there without runs, and has no more than a sentence until two are selected. */
function createComparison(clear: () => void): { element: HTMLElement; show: (pair: Pair, runs: readonly Run[]) => void } {
  const lines = (caption: string, head: string, wide: boolean): Table<Line> =>
    new Table<Line>(caption, [{ name: head, text: ({ name }) => name }, { name: "A", wide, text: ({ a }) => a }, { name: "B", wide, text: ({ b }) => b }, { name: "Difference", title: "Of B from A", text: ({ difference }) => difference }], ({ name }) => name, true);
  const numbers = lines("Figures of the selected runs", "Figure", false);
  const facts = lines("Circumstances of the selected runs", "Circumstance", true);
  const names = h("p", { class: "note" });
  const judged = h("p", { class: "note" }, h("code", {}, "paddock bench diff A B"), " judges whether a difference is more than noise.");
  const card = overviewCard("Compare", names, numbers.element, facts.element, judged);
  const button = h("button", { type: "button", class: "button", onclick: clear }, "Clear");
  card.element.classList.add("compared");
  card.element.querySelector(".card-head")!.append(button);
  const show = ([a, b]: Pair, runs: readonly Run[]): void => {
    card.element.hidden = runs.length === 0;
    button.hidden = a === "";
    const [first, second] = [a, b].map((name) => runs.find((run) => run.name === name));
    const strong = (name: string): HTMLElement => h("strong", {}, name);
    const missing = [a, b].filter((name) => name !== "" && !runs.some((run) => run.name === name));
    if (a === "") fill(names, "Select two runs to put them beside each other.");
    else if (b === "") fill(names, "A is ", strong(a), ": select a second run.");
    else fill(names, "A is ", strong(a), ", B is ", strong(b), ".", missing.length > 0 && ` The list has no ${missing.join(" and no ")}.`);
    const compared = first && second ? compare(first, second) : { numbers: [], facts: [] };
    numbers.show(compared.numbers);
    facts.show(compared.facts);
    judged.hidden = compared.numbers.length === 0;
  };
  return { element: card.element, show };
}
