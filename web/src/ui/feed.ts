// The feed of events: rows newest on top, filters, pause.

import type { FenceEvent } from "../api";
import type { App } from "../app";
import { fill, fillKeyed, h, icon, setText } from "../dom";
import { formatCount, plural } from "../format";
import type { FeedRow, GapRow } from "../model/feed";
import type { Row } from "../model/group";
import { isFiltering } from "../model/filter";
import { countOf, placeLink } from "../model/kinds";
import { facts, joinPieces, placeName, type Piece } from "../model/sentence";
import { createFilters } from "./filters";
import { clockTime } from "./time";
import { describe, eventSelection, kindIcon } from "./words";

export function createFeed(app: App): HTMLElement {
  const list = h("ol", { class: "rows", "aria-label": "Events, newest first", tabindex: -1, id: "feed-rows" });
  const empty = h("p", { class: "note" });
  const draw = (): void => {
    const { rows, filter } = app.feed;
    fillKeyed(list, rows, (row) => String(row.id), (row) => rowElement(app, row));
    setText(empty, rows.length > 0 ? "" : isFiltering(filter) ? "No event passes the filter yet." : "No events yet.");
    empty.hidden = rows.length > 0;
  };
  app.feedTick.bind(draw);
  // A fence's name may be known only after its set has been loaded.
  app.catalog.sets.watch(() => {
    list.replaceChildren();
    draw();
  });

  return h(
    "section",
    { class: "card feed-card", "aria-labelledby": "feed-title" },
    head(app),
    createFilters(app),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Events" }, empty, list),
  );
}

function head(app: App): HTMLElement {
  const pause = h("button", { type: "button", class: "pause", onclick: () => app.setPaused(!app.paused.value) });
  const missed = h("button", {
    type: "button",
    class: "missed",
    hidden: true,
    title: "Events that this page did not get. Click to forget the count.",
    onclick: () => app.missed.set(0),
  });
  const draw = (): void => {
    const paused = app.paused.value;
    pause.setAttribute("aria-pressed", String(paused));
    const waiting = app.feed.waiting;
    const label = paused ? (waiting > 0 ? plural(waiting, "new event") : "Paused") : "Pause";
    if (pause.textContent !== label || pause.childElementCount === 0) fill(pause, icon(paused ? "play" : "pause"), label);
    pause.title = paused ? "Let the feed go on (p)" : "Pause the feed (p)";
  };
  app.feedTick.bind(draw);
  app.paused.watch(draw);
  app.missed.bind((n) => {
    missed.hidden = n === 0;
    setText(missed, `${plural(n, "event")} missed`);
  });
  return h("div", { class: "card-head" }, h("h2", { id: "feed-title" }, "Events"), missed, pause);
}

function rowElement(app: App, row: FeedRow): HTMLElement {
  const { body } = row;
  if (body.type === "event") return eventRow(app, body.event);
  if (body.type === "gap") return gapRow(body, row.time);
  return groupRow(app, body, row.time);
}

/** A row for one event; also used by the details panels. */
export function eventRow(app: App, event: FenceEvent, leaveOut?: "object" | "fence"): HTMLElement {
  const { kind, pieces, sentence } = describe(app, event);
  const set = event.data.set ?? "";
  const shown = pieces.filter(({ role }) => role !== leaveOut);
  // A place that is not what the sentence is about gives way to it.
  const [title, aside] = [shown.filter(({ lead }) => !lead), shown.filter(({ lead }) => lead)];
  const told = [joinPieces(aside), leaveOut === "fence" ? "" : set, ...facts(event)].filter(Boolean);
  return h(
    "li",
    { class: "row", "data-colour": app.catalog.colour(set) },
    h(
      "button",
      { type: "button", title: sentence, onclick: () => app.select(eventSelection(event)) },
      kindIcon(kind),
      h("span", { class: "row-title" }, ...title.flatMap((piece) => [pieceElement(piece, kind), " "])),
      clockTime(event.time),
      h("span", { class: "row-facts" }, told.join(" · ")),
    ),
  );
}

function pieceElement({ role, text }: Piece, kind: string): HTMLElement {
  return role === "verb" ? h("span", { class: "verb", "data-kind": kind }, text) : h("b", {}, text);
}

/** What a group's second line says: its set, unless its first line does, its fences and its rule. */
function groupFacts({ set, fence, fences, rule }: Extract<Row, { type: "group" }>): string {
  const where = fence ? set : fences > 1 ? `in ${plural(fences, "fence")}` : "";
  if (set === "") return ""; // the rule is the place
  return [where, rule].filter(Boolean).join(" · ");
}

function groupRow(app: App, group: Extract<Row, { type: "group" }>, time: number): HTMLElement {
  const { kind, set, fence, fences, count, events } = group;
  const named = placeName({ ...events[0]!.data, fence }, (set, { id, properties }) => app.catalog.label(set, id, properties));
  const place = fences > 1 ? set : named || group.rule;
  const members = h("ol", { class: "members", hidden: true });
  const button = h(
    "button",
    {
      type: "button",
      "aria-expanded": "false",
      onclick: () => {
        const open = members.hidden;
        if (open && members.childElementCount === 0) {
          members.append(...events.toReversed().map((event) => eventRow(app, event)));
          if (count > events.length) members.append(h("li", { class: "note" }, `and ${formatCount(count - events.length)} more`));
        }
        members.hidden = !open;
        button.setAttribute("aria-expanded", String(open));
      },
    },
    kindIcon(kind),
    h("span", { class: "row-title" }, h("span", { class: "verb", "data-kind": kind }, countOf(count, kind)), ` ${placeLink(kind)} `, h("b", {}, place)),
    clockTime(time),
    h("span", { class: "row-facts" }, groupFacts(group), icon("chevron")),
  );
  return h("li", { class: "row group", "data-colour": app.catalog.colour(set) }, button, members);
}

function gapRow({ count, reason }: GapRow, time: number): HTMLElement {
  const what = count > 0 ? `${plural(count, "event")} missed` : "Events may have been missed";
  return h(
    "li",
    { class: "row gap" },
    h(
      "div",
      {},
      h("span", { class: "kind", "data-kind": "gap", "aria-hidden": "true" }, icon("gap")),
      h("span", { class: "row-title" }, h("b", {}, what)),
      clockTime(time),
      h("span", { class: "row-facts" }, reason.replaceAll("_", " ")),
    ),
  );
}
