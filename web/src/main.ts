// The dashboard's entry: builds the page, connects, and loads the map when everything else is up.

import "./style/tokens.css";
import "./style/page.css";
import "./style/panels.css";
import "./style/feed.css";
import "./style/details.css";
import "./style/map.css";
import "./style/nav.css";
import "./style/past.css";
import type { Events, LiveMessage } from "./api";
import { endRequests, isFenceEvent, sessionOver } from "./api";
import { App } from "./app";
import { learnGrant, startDrawing } from "./draw/start";
import { exposeState } from "./hook";
import { Connection } from "./live/connection";
import type { Frame } from "./live/frame";
import { bindLocation } from "./location";
import { bindPast } from "./live/past";
import { noteStates, objectFilter } from "./model/filter";
import { createPlayback } from "./past/bar";
import { bindPastKeys } from "./past/keys";
import { Player } from "./past/player";
import { bindSelected } from "./past/selected";
import { bindLongTrail } from "./past/trail";
import { createAnnouncer } from "./ui/announcer";
import { createBanner } from "./ui/banner";
import { createBar } from "./ui/bar";
import { createDetails } from "./ui/details";
import { createFeed } from "./ui/feed";
import { createFoot } from "./ui/foot";
import { createGreeting } from "./ui/greeting";
import { bindKeys } from "./ui/keys";
import { Layout } from "./ui/layout";
import { Search } from "./ui/search";
import { createSets } from "./ui/sets";
import { tickTimes } from "./ui/time";
import { createStart } from "./ui/start";
import { createZoom } from "./ui/zoom";

/** The feed makes rows of what has arrived this often. */
const feedEveryMs = 250;

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found;
}

function onMessage(app: App, message: LiveMessage): void {
  switch (message.type) {
    case "hello":
      app.live.objects.reset();
      app.hello.set(message);
      break;
    case "names":
      app.reused.set(app.live.objects.learn(message));
      app.fleets.learnNames(message);
      break;
    case "stats":
      app.stats.set(message);
      break;
    case "events":
      onEvents(app, message);
      break;
    case "gap":
      if (message.count === null) app.live.feed.restart();
      app.gap.set(message);
      app.missed.update((n) => n + (message.count ?? 0));
      app.live.feed.addGap(message.count ?? 0, message.reason, Date.now());
      app.feedTick.update((n) => n + 1);
      break;
    case "sets":
      void app.catalog.apply(message.sets);
      break;
  }
}

function onEvents(app: App, { events, states }: Events): void {
  noteStates(events, states);
  const known = events.filter(isFenceEvent);
  app.fleets.learnEvents(known);
  const fresh = app.live.feed.add(known, Date.now());
  if (app.scene.value === app.live) app.events.set(fresh);
}

function onFrame(app: App, frame: Frame): void {
  const { objects, trails } = app.live;
  objects.show(frame);
  for (let i = 0; i < frame.count; i++) {
    const name = objects.name(frame.handles[i]!);
    if (name) trails.add(name.key, frame.lon[i]!, frame.lat[i]!, frame.t);
  }
  trails.sweep(frame.t);
  if (app.scene.value === app.live) app.frame.set(frame);
}

function buildPage(app: App): Layout {
  const page = element("page");
  const layout = new Layout(app, page, element("tabs"));
  const search = new Search(app);
  const foot = createFoot(app);
  createBar(app, element("bar"));
  element("left").append(search.element, createSets(app), createDetails(app));
  element("right").append(createFeed(app));
  element("middle").append(createBanner(app, page), createGreeting(app), createStart(app), createZoom(app), foot.element, createPlayback(app, page));
  createAnnouncer(app, element("announcer"));
  bindKeys(app, {
    copyPlace: foot.copyPlace,
    search: () => {
      layout.open("left");
      search.focus();
    },
    feed: () => {
      layout.open("right");
      document.querySelector<HTMLElement>(".rows button")?.focus();
    },
  });
  bindPastKeys(app);
  return layout;
}

function start(): void {
  const app = new App();
  app.connection = new Connection({
    message: (message) => onMessage(app, message),
    frame: (frame) => onFrame(app, frame),
  });
  app.live.feed.setFilter(app.view.value.filter);
  app.view.watch((now, before) => {
    if (now.filter === before.filter) return;
    app.live.feed.setFilter(now.filter);
    app.connection.want({ objects: objectFilter(now.filter) });
    app.feedTick.update((n) => n + 1);
  });
  void startDrawing(app);
  app.connection.want({ objects: objectFilter(app.view.value.filter) });
  app.past = new Player(app);
  bindLocation(app.view);
  const layout = buildPage(app);
  exposeState(app);
  app.connection.open();
  sessionOver.watch(() => app.connection.end());
  app.connection.link.watch((link, before) => {
    if (link.state === "ended") endRequests();
    if (link.state !== "live" || before.state !== "lost") return;
    // A restarted server may have other sets, and a key that was changed has other limits.
    void app.catalog.load();
    void learnGrant(app);
  });
  void app.catalog.load();
  bindPast(app);
  bindLongTrail(app);
  bindSelected(app);
  window.setInterval(() => {
    for (const feed of [app.live.feed, app.past.feed]) if (feed !== app.feed) feed.tick(Date.now());
    if (app.feed.tick(Date.now()) || app.feed.paused) app.feedTick.update((n) => n + 1);
  }, feedEveryMs);
  window.setInterval(tickTimes, 1000);
  void loadMap(app, layout);
}

async function loadMap(app: App, layout: Layout): Promise<void> {
  const note = element("map-note");
  try {
    const { createMap } = await import("./map/map");
    await createMap(app, element("stage"), () => layout.margins());
    note.hidden = true;
  } catch (error) {
    console.error(error);
    app.mapFailed.set(true);
    note.textContent = "The map needs WebGL 2, which this browser does not offer here. Figures and events work without it.";
  }
}

start();
