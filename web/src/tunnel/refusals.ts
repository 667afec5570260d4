// Refused visitors, by place and reason. The exhausted bounds are below.

import type { Tunnel, TunnelRefused } from "../api";
import { fill, h } from "../dom";
import { formatCount } from "../format";
import { counter, type Rates } from "./rates";
import { Table } from "../ui/table";

/** The meanings of the server's words. */
const meanings: Record<string, string> = {
  no_route: "No client serves the host or the path",
  denied: "The client may not have the name any more",
  malformed: "The request was not proper HTTP, or too large or too slow",
  misdirected: "TLS was begun with a name of another client",
  unauthenticated: "User and password were missing or wrong",
  overloaded: "A bound of the server",
  client_full: "A bound of the client",
  hint_full: "The client had said that it is full",
  link_behind: "The client's connection takes nothing, or it says nothing",
  client_away: "The client is away",
  client_lost: "The client's connection ended under the request",
  hint_down: "The client had said that the service takes no connection",
  unreachable: "The service took no connection",
  broken: "The service ended early, or spoke no HTTP",
  too_late: "The service took too long",
  unintroduced: "A proxy has sent a malformed introduction",
  gone: "The visitor left",
};

export function createRefusals(rates: Rates): { element: HTMLElement; show: (tunnel: Tunnel) => void } {
  const table = new Table<TunnelRefused>(
    "Refused",
    [
      { name: "Reason", text: ({ reason }) => reason.replaceAll("_", " "), hint: ({ reason }) => meanings[reason] ?? "" },
      { name: "Stage", text: ({ stage }) => stage },
      { name: "Per second", number: true, text: (r) => formatCount(rates.of(counter.refused(r.stage, r.reason))) },
      { name: "In all", number: true, text: ({ count }) => formatCount(count) },
    ],
    ({ stage, reason }) => `${stage} ${reason}`,
  );
  const note = h("p", { class: "note" }, "None so far.");
  const overloads = h("p", { class: "note" });
  const show = ({ refused, overloads: full }: Tunnel): void => {
    table.show(refused);
    note.hidden = refused.length > 0;
    fill(overloads, `No room: ${full.map(({ of, count }) => `${of} ${formatCount(count)}`).join(", ")}.`);
    overloads.hidden = full.length === 0;
  };
  return { element: h("div", {}, table.element, note, overloads), show };
}
