// One set: its figures, source, findings and policy, and what can be done with it.

import type { SetPolicy } from "../../api";
import { fill, h, icon } from "../../dom";
import { formatBytes, formatCount, plural } from "../../format";
import { announce, confirm } from "../../frame/dialog";
import { field, form, operations, refill, select, textArea, textInput } from "../../frame/form";
import { explain } from "../../frame/request";
import type { Split } from "../../frame/split";
import { policySentences } from "../../model/policy";
import { indexText, mapAddress, policyOf, type PolicyChoice } from "../../model/setpage";
import { emptyView, formatView } from "../../view";
import { pairs, section, updatePairs, type Pair } from "../../ui/parts";
import { ago } from "../../ui/time";
import { deletePolicy, deleteSet, fetchPolicy, fetchReport, putPolicy, type ListedSet } from "./api";
import { createUpload, findingList } from "./upload";

/** So many findings are listed; the count tells of the others. */
const mostFindings = 100;

export interface DetailActions {
  changed: () => void;
  gone: () => void;
}

export interface Detail {
  show: (name: string, set: ListedSet | undefined) => void;
  /** Takes over what the list says of the set that is shown. */
  update: (set: ListedSet | undefined) => void;
}

export function createDetail(split: Split, actions: DetailActions): Detail {
  let update: (set: ListedSet) => void = () => undefined;
  let generation = -1;
  const detail: Detail = {
    show(name, set) {
      if (!set) {
        update = (now) => detail.show(name, now); // it has come after all
        split.show(name, "Set", name, h("p", { class: "note" }, "There is no set of this name, or this key may not see it."));
        return;
      }
      const view = new SetView(name, actions);
      generation = set.generation;
      update = (now) => {
        view.figures(now);
        if (now.generation !== generation) void view.load();
        generation = now.generation;
      };
      view.figures(set);
      split.show(name, "Set", name, ...view.parts);
      void view.load();
    },
    update(set) {
      if (set?.name === split.key) update(set);
    },
  };
  return detail;
}

class SetView {
  readonly parts: HTMLElement[];
  readonly #name: string;
  readonly #actions: DetailActions;
  readonly #pairs = pairs([]);
  readonly #map = h("a", { class: "button" }, icon("map"), "Show on the map");
  readonly #findings = section("Findings");
  readonly #policy = section("Policy");
  readonly #upload = h("div", { hidden: true });
  /** The policy is being changed: what is typed stays. */
  #editing = false;
  #tag = "";
  #loading: Promise<unknown> = Promise.resolve();

  constructor(name: string, actions: DetailActions) {
    this.#name = name;
    this.#actions = actions;
    const tools = operations(
      ["Replace from a file…", () => this.#replace()],
      ["Delete…", () => this.#delete(), "button danger-text"],
    );
    tools.querySelector(".actions")?.prepend(this.#map);
    const figures = h("section", { class: "part" }, this.#pairs, tools, this.#upload);
    this.parts = [figures, this.#findings.element, this.#policy.element];
  }

  figures(set: ListedSet): void {
    const { source, index } = set;
    const rows: Pair[] = [
      ["Fences", `${formatCount(set.fences)}, of ${plural(set.parts, "part")} and ${plural(set.edges, "edge")}`],
      ["Index", indexText(set.kind, index.kind) + (index.building ? ", another is being built" : "")],
      ["Memory", `${formatBytes(index.bytes)}, ${index.bytes_per_edge.toFixed(0)} bytes an edge`],
      ["Generation", formatCount(set.generation)],
      ["Source", source ? source.file : "made over HTTP"],
    ];
    if (source?.loaded !== undefined) rows.push(["Read", ago(source.loaded)]);
    if (source?.error !== undefined) rows.push(["Not taken over", h("span", { class: "bad" }, source.error)]);
    updatePairs(this.#pairs, rows);
    this.#map.hidden = set.bbox === null;
    if (set.bbox) this.#map.href = mapAddress(set.bbox);
  }

  /** Asks for findings and policy. */
  async load(): Promise<void> {
    const loading = Promise.allSettled([fetchReport(this.#name), fetchPolicy(this.#name)]);
    this.#loading = loading;
    const [report, policy] = await loading;
    if (report.status === "fulfilled") {
      const { reasons, etag } = report.value;
      this.#tag = etag;
      const link = (fence: string): string => `./${formatView({ ...emptyView, selection: { kind: "fence", set: this.#name, fence } })}`;
      const more = reasons.length - mostFindings;
      fill(
        this.#findings.content,
        reasons.length === 0 ? h("p", { class: "note" }, "Nothing is wrong in its data.") : findingList(reasons.slice(0, mostFindings), link),
        more > 0 ? h("p", { class: "note" }, `And ${formatCount(more)} more.`) : null,
      );
    } else fill(this.#findings.content, h("p", { class: "note" }, explain(report.reason)));
    if (this.#editing) return;
    if (policy.status === "fulfilled") this.#showPolicy(policy.value);
    else fill(this.#policy.content, h("p", { class: "note" }, explain(policy.reason)));
  }

  #showPolicy(policy: SetPolicy): void {
    this.#editing = false;
    const sentences = h("ul", { class: "policy" }, ...policySentences(policy).map((text) => h("li", {}, text)));
    if (policy.file !== undefined) return refill(this.#policy.content, sentences, h("p", { class: "hint" }, `It is changed in ${policy.file}.`));
    const remove = async (): Promise<void> => {
      const text = "The policy of sets without one of their own holds then. Memberships stay.";
      if (!(await confirm({ title: `Remove the policy of ${this.#name}?`, text, action: "Remove" }))) return;
      await deletePolicy(this.#name);
      await this.load();
    };
    const tools = operations(["Change…", () => Promise.resolve(this.#editPolicy(policy))], ...(policy.own ? ([["Remove…", remove, "button danger-text"]] as const) : []));
    refill(this.#policy.content, sentences, tools);
  }

  #editPolicy(policy: SetPolicy): void {
    this.#editing = true;
    const presets = [["steady", "steady: no flapping at a boundary"], ["raw", "raw: each position counts"], ["accuracy", "accuracy: by the circle of error"], ["dwell", "dwell: after some time"], ["json", "as JSON"]] as const;
    const preset = select(presets, "json");
    const time = textInput("5m");
    const text = textArea(JSON.stringify(policy.policy, null, 2), 16);
    const [timeField, textField] = [field("Time on the other side", time), field("Policy", text)];
    const shape = (): void => {
      timeField.hidden = preset.value !== "dwell";
      textField.hidden = preset.value !== "json";
    };
    preset.addEventListener("change", shape);
    shape();
    const choice = (): PolicyChoice => {
      if (preset.value === "dwell") return { preset: "dwell", time: time.value };
      if (preset.value === "json") return { preset: "json", text: text.value };
      return { preset: preset.value as "raw" };
    };
    const send = async (): Promise<void> => {
      this.#showPolicy(await putPolicy(this.#name, policyOf(choice())));
      announce(`${this.#name} has a policy of its own.`);
    };
    const cancel = (): void => {
      this.#showPolicy(policy);
      void this.load(); // it may be another one by now
    };
    fill(this.#policy.content, form({ label: "Policy", fields: [field("Preset", preset), timeField, textField], submit: "Save the policy", send, cancel }));
    preset.focus();
  }

  /** The state that a change is made to: the one that is shown when the change begins. */
  async #state(): Promise<string> {
    await this.#loading;
    if (this.#tag === "") throw new Error("The state of the set is not known: reload the page, and try again.");
    return this.#tag;
  }

  async #replace(): Promise<void> {
    const tag = await this.#state();
    const close = (): void => {
      this.#upload.hidden = true;
      this.#upload.replaceChildren();
    };
    const done = (): Promise<void> => {
      close();
      this.#actions.changed();
      return this.load();
    };
    fill(this.#upload, createUpload({ set: { name: this.#name, tag }, done, cancel: close }));
    this.#upload.hidden = false;
    this.#upload.querySelector("input")?.focus();
  }

  async #delete(): Promise<void> {
    const tag = await this.#state();
    const text = "Its fences are removed, and objects leave them. A set that is read from a file comes back when the file is read again.";
    if (!(await confirm({ title: `Delete the set ${this.#name}?`, text, action: "Delete" }))) return;
    await deleteSet(this.#name, tag);
    announce(`${this.#name} is deleted.`);
    this.#actions.gone();
  }
}
