// The page of the tunnel: builds it, and polls the server's state.

import { fetchTunnel, type Tunnel } from "../api";
import { fill, h, setText, type Child } from "../dom";
import { formatBytes, formatCount } from "../format";
import { createBanner } from "../frame/banner";
import type { Frame } from "../frame/frame";
import { countText, createFind, overviewCard as card } from "../frame/overview";
import { Poll } from "../live/poll";
import { createFigureList, type FigureSpec } from "../ui/figure";
import { createBounds } from "./bounds";
import { createClients } from "./clients";
import { counter, Rates } from "./rates";
import { createRefusals } from "./refusals";
import { createTunnels } from "./tunnels";

/** An answer with the rates that follow from earlier answers. */
interface Seen extends Tunnel {
  rates: Rates;
}

/** A plot has no place for unknown values. */
const orZero = (rate: number): number => (Number.isNaN(rate) ? 0 : rate);
const formatRate = (bytes: number): string => `${formatBytes(bytes)}/s`;

const specs: FigureSpec<Seen>[] = [
  { label: "clients", title: "Clients that are connected", value: ({ figures }) => figures.sessions, format: formatCount },
  { label: "tunnels", title: "Names and addresses that they hold", value: ({ figures }) => figures.names, format: formatCount },
  { label: "visits/s", title: "Exchanges and connections let in a second", value: ({ rates }) => orZero(rates.of(counter.figure("begun"))), format: formatCount },
  { label: "in flight", title: "Requests under way, and streams that are open", value: ({ figures }) => figures.requests + figures.streams, format: formatCount },
  { label: "from clients", title: "Bytes a second from clients", value: ({ rates }) => orZero(rates.of(counter.figure("received"))), format: formatRate },
  { label: "to clients", title: "Bytes a second to clients", value: ({ rates }) => orZero(rates.of(counter.figure("sent"))), format: formatRate },
  { label: "refused/s", title: "Visitors refused a second", value: ({ rates }) => orZero(rates.of(counter.refusedAll)), format: formatCount, fault: true },
  { label: "queued", title: "Requests that wait for room", value: ({ figures }) => figures.queued, format: formatCount, fault: true },
  { label: "away", title: "Tunnels whose clients are away", value: ({ figures }) => figures.away, format: formatCount, fault: true },
];

function createPill(poll: Poll<Tunnel>): HTMLElement {
  const pill = h("span", { class: "pill" });
  poll.link.bind((link) => {
    pill.dataset.state = link.state;
    const word = { connecting: "Connecting", live: "Live", lost: "Offline", ended: "Session ended", none: "No tunnel", denied: "Not for this key" }[link.state];
    fill(pill, h("i", { "aria-hidden": "true" }), word);
  });
  return pill;
}

function noTunnel(): Child[] {
  const guide = h("code", {}, "tunnel:");
  return [h("strong", {}, "This server has no tunnel."), " To have one, add a section ", guide, " to its paddock.yaml, or run ", h("code", {}, "paddock tunnel serve"), "."];
}

export function open(frame: Frame): void {
  const rates = new Rates();
  const figures = createFigureList(specs);
  const [clients, tunnels, refusals, bounds] = [createClients(rates), createTunnels(rates), createRefusals(rates), createBounds()];
  const noClients = h("p", { class: "note" });
  const nothing = h("p", { class: "note" });
  const clientCard = card("Clients", clients.element, noClients);
  const tunnelCard = card("Tunnels", tunnels.element, nothing);

  const show = (tunnel: Tunnel): void => {
    rates.add(tunnel);
    figures.add({ ...tunnel, rates });
    clients.show(tunnel.sessions);
    tunnels.show(tunnel.tunnels);
    refusals.show(tunnel);
    bounds.show(tunnel.figures);
    setText(clientCard.count, countText(tunnel.sessions.length, tunnel.sessions_all));
    setText(tunnelCard.count, countText(tunnel.tunnels.length, tunnel.tunnels_all));
    noClients.hidden = tunnel.sessions_all > 0;
    nothing.hidden = tunnel.tunnels_all > 0;
    if (tunnel.figures.sessions > 0) setText(noClients, "No client has this in its name.");
    else fill(noClients, "No client is connected. On the machine with the service: ", h("code", {}, "paddock tunnel http PORT --server HOST"));
    setText(nothing, tunnel.figures.names > 0 ? "No tunnel has this in its name." : "Nothing is held.");
  };
  let find = "";
  const poll = new Poll(show, (signal) => fetchTunnel(find, signal));
  const setFind = (text: string): void => {
    find = text;
    poll.now();
  };
  frame.figures.append(figures.element);
  frame.end.append(createPill(poll));
  frame.banner.append(createBanner(poll, frame.page, noTunnel));
  frame.main.classList.add("overview");
  frame.main.append(
    h("div", { class: "overview-wide" }, createFind("Find a client or a tunnel", setFind), clientCard.element, tunnelCard.element),
    h("div", { class: "overview-side" }, card("Bounds", bounds.element).element, card("Refused", refusals.element).element),
  );
  poll.now();
}
