// One webhook or sink: its state, its last attempts, its dead letters, and what can be done with it.

import { h, icon } from "../../dom";
import type { Address } from "../../frame/address";
import { announce, confirm } from "../../frame/dialog";
import { form, field, operations, refill, textInput } from "../../frame/form";
import { explain, sentence, type Tagged } from "../../frame/request";
import { secretPanel } from "../../frame/secret";
import type { Split } from "../../frame/split";
import { plural } from "../../format";
import { hostOf, newSecret, selectsText, webhookForm } from "../../model/webhooks";
import { pairs, updatePairs } from "../../ui/parts";
import { deleteWebhook, fetchWebhook, operate, putWebhook, replay, sinkPath, webhookPath, type Deliveries, type ShownWebhook, type Sink, type Webhook } from "./api";
import { createEditor } from "./editor";
import { Log } from "./log";
import { stateRows } from "./state";

export interface DetailActions {
  changed: () => void;
  gone: () => void;
  made: (id: string) => void;
}

export interface Detail {
  show: (id: string) => Promise<void>;
  showSink: (id: string, sink: Sink | undefined) => void;
  make: (key: string) => void;
  /** Takes over what the list says of what is shown. */
  update: (all: Deliveries) => void;
}

/** The key of a sink's details; webhooks have their ids. */
const sinkKey = (id: string): string => `sink ${id}`;

export function createDetail(split: Split, address: Address, actions: DetailActions): Detail {
  let update: (all: Deliveries) => void = () => undefined;
  let asked = 0;

  const show = async (id: string, secret = "", warnings: readonly string[] = []): Promise<void> => {
    let found: Tagged<ShownWebhook>;
    update = () => undefined;
    const turn = ++asked;
    let once: HTMLElement | null = null;
    if (secret !== "") {
      const kept = (): void => {
        once?.remove();
        once = null;
      };
      once = h("div", { class: "part" }, secretPanel(`The secret of ${id}`, secret, "is shown this once. The receiver verifies requests with it.", kept));
    }
    if (split.key !== id) split.show(id, "Webhook", id, once, h("p", { class: "note", "aria-busy": "true" }, "Loading…"));
    // A secret is shown whatever else has been opened or has failed meanwhile: it cannot be shown again.
    const isOld = (): boolean => once === null && (turn !== asked || split.key !== id);
    try {
      found = await fetchWebhook(id);
    } catch (error) {
      if (!isOld()) split.show(id, "Webhook", id, once, h("p", { class: "note" }, explain(error)));
      return;
    }
    if (isOld()) return;
    const { value, tag } = found;
    const log = new Log(webhookPath(id), id, address.get("attempt"));
    const state = pairs(stateRows(value.state));
    const inset = h("div", {});
    const tools = h("div", { class: "tools" }, webhookTools(value, tag, log, inset, actions));
    const head = h("section", { class: "part" }, ...warnings.map((each) => h("p", { class: "warning" }, sentence(each))), state, tools, inset);
    const settings = h("section", { class: "part" }, h("h3", {}, "Sends"), facts(value), value.file === undefined ? null : h("p", { class: "hint" }, `It is changed in the file ${value.file}.`));
    split.show(id, "Webhook", id, once, head, ...log.parts, settings, value.file === undefined ? editPart(value, tag, () => show(id), actions) : null);
    let now = value.state.state;
    update = ({ webhooks }) => {
      const next = webhooks.find(({ webhook }) => webhook.id === id);
      if (!next || split.key !== id) return;
      updatePairs(state, stateRows(next.state));
      // Enabling has become disabling, or the other way round.
      if (next.state.state !== now) refill(tools, webhookTools(next, tag, log, inset, actions));
      now = next.state.state;
      void log.load();
    };
    void log.load();
  };

  const showSink = (id: string, sink: Sink | undefined): void => {
    const key = sinkKey(id);
    if (key === split.key) return;
    update = () => undefined;
    if (!sink) return split.show(key, "Sink", id, h("p", { class: "note" }, "There is no sink of this name."));
    const log = new Log(sinkPath(id), "", address.get("attempt"));
    const state = pairs(stateRows(sink.state));
    const tools = h("div", { class: "tools" }, deliveryTools(sinkPath(id), sink.state.state, actions.changed));
    const what = pairs([["Kind", sink.kind], ["To", sink.to], ["Events", sink.events]]);
    split.show(key, "Sink", id, h("section", { class: "part" }, state, tools), ...log.parts, h("section", { class: "part" }, h("h3", {}, "Sends"), what));
    let now = sink.state.state;
    update = ({ sinks }) => {
      const next = sinks.find((each) => each.id === id);
      if (!next || split.key !== key) return;
      updatePairs(state, stateRows(next.state));
      if (next.state.state !== now) refill(tools, deliveryTools(sinkPath(id), next.state.state, actions.changed));
      now = next.state.state;
      void log.load();
    };
    void log.load();
  };

  const make = (key: string): void => {
    update = () => undefined;
    const save = async (webhook: Webhook, sign: boolean): Promise<void> => {
      const id = webhook.id ?? "";
      if (id === "") throw new Error("The webhook needs an id.");
      const secret = sign ? newSecret() : "";
      const changed = await putWebhook(id, secret === "" ? webhook : { ...webhook, secrets: [secret] }, "new");
      announce(`${id} is added.`);
      await show(id, secret, changed.warnings);
      actions.made(id);
    };
    split.show(key, "New", "Add a webhook", h("section", { class: "part" }, createEditor({ form: webhookForm({ url: "" }), fresh: true, save })));
    document.querySelector<HTMLElement>(".split-detail input")?.focus();
  };

  return { show: (id) => show(id), showSink, make, update: (all) => update(all) };
}

/** Retry, and enable or disable. */
function deliveryTools(path: string, state: string, changed: () => void, ...more: Parameters<typeof operations>): HTMLElement {
  const act = (operation: "retry" | "enable" | "disable", word: string) => async (): Promise<void> => {
    await operate(path, operation);
    announce(word);
    changed();
  };
  const own: Parameters<typeof operations> = [];
  if (state === "waiting") own.push(["Retry now", act("retry", "It is tried again."), "button primary"]);
  own.push(state === "disabled" ? ["Enable", act("enable", "It is enabled."), "button primary"] : ["Disable", act("disable", "It is disabled.")]);
  return operations(...own, ...more);
}

/** The operations of a webhook. A form of theirs is in the box, which stays when they change. */
function webhookTools(shown: ShownWebhook, tag: string, log: Log, box: HTMLElement, actions: DetailActions): HTMLElement {
  const id = shown.webhook.id ?? "";
  const sendAgain = (): Promise<void> => {
    const from = textInput("");
    from.type = "datetime-local";
    const send = async (): Promise<void> => {
      if (from.value === "") throw new Error("Choose a time.");
      await replay(id, new Date(from.value).toISOString());
      announce("The events are sent again.");
      box.replaceChildren();
      actions.changed();
    };
    refill(box, h("div", { class: "inset" }, form({ label: "Send again", fields: [field("Send the events again since", from, "Requests have the header paddock-replay: 1.")], submit: "Send again", send, cancel: () => box.replaceChildren() })));
    from.focus();
    return Promise.resolve();
  };
  const remove = async (): Promise<void> => {
    const text = `Nothing is sent to ${hostOf(shown.webhook.url)} any more. Its place in the events and its dead letters are forgotten.`;
    if (!(await confirm({ title: `Delete the webhook ${id}?`, text, action: "Delete" }))) return;
    await log.end(() => deleteWebhook(id, tag));
    announce(`${id} is deleted.`);
    actions.gone();
  };
  const more: Parameters<typeof operations> = [["Send again…", sendAgain]];
  if (shown.file === undefined) more.push(["Delete…", remove, "button danger-text"]);
  return deliveryTools(webhookPath(id), shown.state.state, actions.changed, ...more);
}

function facts({ webhook }: ShownWebhook): HTMLElement {
  const secrets = webhook.secrets?.length ?? 0;
  const headers = Object.keys(webhook.headers ?? {});
  return pairs([
    ["To", webhook.url],
    ["Format", webhook.format ?? "cloudevents"],
    ["Events", selectsText(webhook)],
    ["Signed", secrets === 0 ? "no" : `with ${plural(secrets, "secret")}, which the server does not show`],
    ...(headers.length > 0 ? ([["Headers", headers.join(", ")]] as const).map(([name, value]) => [name, value] as [string, string]) : []),
  ]);
}

/** The button that opens the form of a webhook, in its place. */
function editPart({ webhook }: ShownWebhook, tag: string, again: () => Promise<void>, actions: DetailActions): HTMLElement {
  const id = webhook.id ?? "";
  const part = h("section", { class: "part" });
  const rest = (): void => refill(part, h("button", { type: "button", class: "button", onclick: edit }, icon("rule"), "Change…"));
  const edit = (): void => {
    const save = async (next: Webhook): Promise<void> => {
      await putWebhook(id, next, tag);
      announce(`${id} is saved.`);
      await again();
      actions.changed();
    };
    refill(part, createEditor({ form: webhookForm(webhook), base: webhook, save, cancel: rest }));
    part.querySelector<HTMLElement>("input")?.focus();
  };
  rest();
  return part;
}
