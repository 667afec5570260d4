// The state of the fleet in a few numbers, each a link to what is behind it: a filter of the map, or a page.

import type { App } from "../app";
import { h, setText } from "../dom";
import { formatCount } from "../format";
import { watchHealth, type Health } from "../live/health";
import { sightOf } from "../model/sight";
import { emptyView, formatView, noFilter } from "../view";
import { showFlapping } from "./flapping";

interface FleetFigure {
  word: string;
  title: string;
  /** For a key that sees those objects alone that are in the view. */
  inView?: { word: string; title: string };
  href: string;
  /** Instead of a new page. */
  here?: (app: App) => void;
  /** Null: not known, and then not shown. */
  count: (app: App, health: Health | null) => number | null;
  /** Whether a number above zero is bad news. */
  bad: boolean;
}

const silentView = formatView({ ...emptyView, filter: { ...noFilter, states: ["silent"] } });

const figures: FleetFigure[] = [
  {
    word: "objects",
    title: "Objects known. Show all of them",
    inView: { word: "in view", title: "Objects in this part of the map. Show all of them" },
    href: ".",
    here: (app) => {
      app.setFilter({ fleet: "", states: [], text: "" });
      app.map.value?.fit();
    },
    count: (app) => (sightOf(app.grant.value).objects ? (app.stats.value?.objects ?? null) : null),
    bad: false,
  },
  {
    word: "silent",
    title: "Objects that have stopped reporting. Show these only",
    inView: { word: "silent", title: "Objects in this part of the map that have stopped reporting. Show these only" },
    href: `./${silentView}`,
    here: (app) => app.setFilter({ ...noFilter, states: ["silent"] }),
    count: (app) => (sightOf(app.grant.value).objects ? (app.stats.value?.silent ?? null) : null),
    bad: true,
  },
  {
    word: "late",
    title: "Positions of the last minute that were older than their object's last one. See the doors they came through",
    href: "./devices",
    count: (app) => (sightOf(app.grant.value).everything ? (app.stats.value?.late ?? null) : null),
    bad: true,
  },
  {
    word: "flapping",
    title: "Objects that enter and leave the same fence again and again. See which, and what would stop it",
    href: "v1/doctor?only=flapping",
    here: showFlapping,
    count: (_app, health) => health?.flapping ?? null,
    bad: true,
  },
  {
    word: "failing webhooks",
    title: "Webhooks whose last attempt failed, or that were disabled for it. See their attempts",
    href: "./webhooks",
    count: (_app, health) => health?.failing_webhooks ?? null,
    bad: true,
  },
];

export function createFleetFigures(app: App): HTMLElement {
  const rows = figures.map((figure) => {
    const { word, title, href, here } = figure;
    const value = h("b", {}, "–");
    const onclick = (event: MouseEvent): void => {
      // A new tab or window is asked for with a key.
      if (!here || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      here(app);
    };
    const name = h("span", {}, word);
    const link = h("a", { href, title, onclick }, value, " ", name);
    return { figure, value, name, link };
  });
  const health = watchHealth();
  const show = (): void => {
    const { everything } = sightOf(app.grant.value);
    for (const { figure, value, name, link } of rows) {
      const count = figure.count(app, health.value);
      const told = (everything ? undefined : figure.inView) ?? figure;
      setText(name, told.word);
      link.title = told.title;
      link.hidden = count === null;
      if (count === null) continue;
      setText(value, formatCount(count));
      link.classList.toggle("bad", figure.bad && count > 0);
    }
  };
  app.stats.bind(show);
  app.grant.watch(show);
  health.watch(show);
  return h("nav", { class: "fleet", "aria-label": "Fleet" }, ...rows.map(({ link }) => link));
}
