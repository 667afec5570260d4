// The page of the webhooks, with the sinks of the configuration below them.

import { h, icon, setText } from "../../dom";
import { Address } from "../../frame/address";
import type { Frame } from "../../frame/frame";
import { card, itemLink, Split } from "../../frame/split";
import { watch } from "../../frame/watch";
import { formatCount } from "../../format";
import { hostOf, outcomeText, selectsText, stateWord } from "../../model/webhooks";
import { Table, type Column } from "../../ui/table";
import { fetchDeliveries, type Deliveries, type ShownWebhook, type Sink, type WebhookState } from "./api";
import { createDetail } from "./detail";

const making = "new webhook";
/** After an operation the attempt that it causes is soon known. */
const afterMs = 700;

export function open(frame: Frame): void {
  const address = new Address();
  const split = new Split(() => address.go({ id: "", sink: "", attempt: "" }));
  const choose = (id: string, replace = false): void => address.go({ id, sink: "", attempt: "" }, replace);
  const hooks = webhookTable(address, choose);
  const sinks = sinkTable(address, (sink) => address.go({ id: "", sink, attempt: "" }));
  const noHooks = h("div", { class: "empty", hidden: true }, h("p", {}, h("strong", {}, "No webhooks yet."), " A webhook sends events to an address of yours: in order, each at least once, again and again until it is taken."));
  const noSinks = h("div", { class: "empty", hidden: true }, h("p", {}, h("strong", {}, "No sinks."), " Files, NATS, MQTT and Kafka are sinks. They are in the section ", h("code", {}, "sinks"), " of the configuration file."));
  const add = h("button", { type: "button", class: "button", onclick: () => make() }, icon("plus"), "Add a webhook");
  const hookCard = card("Webhooks", [add], hooks.element, noHooks);
  const sinkCard = card("Sinks", [], sinks.element, noSinks);
  split.list.append(hookCard.element, sinkCard.element);
  frame.main.append(split.element);

  let known: Deliveries = { webhooks: [], sinks: [] };
  let answered = false;
  const poll = watch(frame, fetchDeliveries, (answer) => {
    known = answer;
    hooks.show(answer.webhooks);
    sinks.show(answer.sinks);
    noHooks.hidden = answer.webhooks.length > 0;
    noSinks.hidden = answer.sinks.length > 0;
    setText(hookCard.count, formatCount(answer.webhooks.length));
    setText(sinkCard.count, formatCount(answer.sinks.length));
    if (answered) detail.update(known);
    else if (address.get("id") !== "" || address.get("sink") !== "") show();
    answered = true;
  }, () => ["There are no webhooks here."]);
  const detail = createDetail(split, address, {
    changed: () => {
      poll.now();
      setTimeout(() => poll.now(), afterMs);
    },
    gone: () => {
      choose("", true);
      poll.now();
    },
    made: (id) => {
      poll.now();
      choose(id, true);
    },
  });
  const show = (): void => {
    const [id, sink] = [address.get("id"), address.get("sink")];
    hooks.mark(id);
    sinks.mark(sink);
    const found = known.sinks.find((each) => each.id === sink);
    if (id !== "") {
      if (id !== split.key) void detail.show(id);
    } else if (sink !== "") detail.showSink(sink, found);
    else split.hide();
  };
  const make = (): void => {
    choose("");
    detail.make(making);
  };
  address.parameters.watch(show);
}

/** The columns that tell of a delivery. */
function stateColumns<T>(state: (row: T) => WebhookState): Column<T>[] {
  return [
    { name: "State", text: (row) => stateWord(state(row)).word, state: (row) => stateWord(state(row)).colour, hint: (row) => state(row).reason ?? "" },
    { name: "Behind", title: "Events of the log that are not delivered yet", number: true, text: (row) => formatCount(state(row).lag) },
    { name: "Failures", title: "Attempts that failed since the last success", number: true, text: (row) => formatCount(state(row).failures), state: (row) => (state(row).failures > 0 ? "away" : "") },
    { name: "Last attempt", text: (row) => (state(row).last_attempt ? outcomeText(state(row).last_attempt!) : "–"), hint: (row) => state(row).last_attempt?.reason ?? "" },
    { name: "Delivered", number: true, text: (row) => formatCount(state(row).delivered) },
    { name: "Dead letters", title: "Events that were refused for good", number: true, text: (row) => formatCount(state(row).dead_letters), state: (row) => (state(row).dead_letters > 0 ? "refused" : "") },
  ];
}

function webhookTable(address: Address, choose: (id: string) => void): Table<ShownWebhook> {
  const id = ({ webhook }: ShownWebhook): string => webhook.id ?? "";
  return new Table<ShownWebhook>(
    "All webhooks",
    [
      { name: "Webhook", element: (row) => itemLink(id(row), address.link({ id: id(row) }), id(row), () => choose(id(row))) },
      { name: "To", text: ({ webhook }) => hostOf(webhook.url), hint: ({ webhook }) => `${webhook.url}\n${selectsText(webhook)}` },
      ...stateColumns<ShownWebhook>(({ state }) => state),
    ],
    id,
    true,
  );
}

function sinkTable(address: Address, choose: (id: string) => void): Table<Sink> {
  return new Table<Sink>(
    "All sinks",
    [
      { name: "Sink", element: ({ id }) => itemLink(id, address.link({ sink: id }), id, () => choose(id)) },
      { name: "To", wide: true, text: ({ kind, to }) => `${kind}: ${to}`, hint: ({ to, events }) => `${to}\n${events}` },
      ...stateColumns<Sink>(({ state }) => state),
    ],
    ({ id }) => id,
    true,
  );
}
