// App: the state that the parts of the page share. Parts watch it and change it; they do not know each other.

import type { Map as GLMap } from "maplibre-gl";
import type { Bounds, FenceEvent, Gap, Grant, Hello, Stats } from "./api";
import type { Connection } from "./live/connection";
import type { Frame } from "./live/frame";
import { Catalog } from "./model/catalog";
import { Feed } from "./model/feed";
import { Fleets } from "./model/fleets";
import { Objects } from "./model/objects";
import { Trails } from "./model/trails";
import type { Player } from "./past/player";
import { Signal } from "./signal";
import { noFilter, parseView, type Filter, type Selection, type View } from "./view";

/** The map's operations; there is no map until its code has loaded. */
export interface MapActions {
  /** Shows all sets that are switched on, or one of them. */
  fit(set?: string): void;
  zoom(by: number): void;
  /** A fence near the middle of the map, and a moving object there: for the greeting's suggestions. */
  someFence(): Selection | null;
  someObject(): Selection | null;
  /** Drawn positions in CSS pixels of the map, for tests. */
  drawn(): DrawnObject[];
  /** Where a place is on the map, in CSS pixels, for tests. */
  project(lon: number, lat: number): { x: number; y: number };
  /** The place in the middle of the map. */
  center(): readonly [lon: number, lat: number];
  statistics(): MapStatistics;
  /** The map itself, for drawing on it. */
  readonly gl: GLMap;
}

/** The place of the selected event. */
export interface Marked {
  lon: number;
  lat: number;
  /** Unix ms. */
  t: number;
  object: { fleet: string; id: string } | null;
  /** The place before it, if the event has one. */
  before: readonly [lon: number, lat: number] | null;
}

export interface MapStatistics {
  /** Whether everything that is in view has been drawn. */
  complete: boolean;
  fences: number;
  /** The texts of the labels that are drawn. */
  labels: string[];
  /** How many objects the drawn cells of a crowd hold; 0 while each object is drawn on its own. */
  crowd: number;
  /** Where the largest of these cells is, in CSS pixels of the map. */
  cell: { x: number; y: number } | null;
  /** Whether there is a base map, and it is drawn. */
  basemap: boolean;
  /** The length of the drawn path to the selected event, in points. */
  path: number;
  /** Drawings since the page was opened. */
  mapDrawings: number;
  overlayDrawings: number;
}

export interface DrawnObject {
  fleet: string;
  id: string;
  x: number;
  y: number;
  lon: number;
  lat: number;
}

/** What the map and the feed show: the present, or the past. */
export class Scene {
  readonly objects = new Objects();
  readonly trails = new Trails();
  #feed = this.#newFeed();

  get feed(): Feed {
    return this.#feed;
  }

  /** Begins with an empty feed. */
  renew(filter: Filter): void {
    this.#feed = this.#newFeed();
    this.#feed.setFilter(filter);
  }

  #newFeed(): Feed {
    return new Feed((fleet, id) => this.objects.find(fleet, id)?.state);
  }
}

export class App {
  readonly view = new Signal<View>(parseView(location.search));
  readonly catalog = new Catalog();
  readonly fleets = new Fleets();
  readonly live = new Scene();
  /** The scene on the page: live, or that of the past. */
  readonly scene = new Signal(this.live);
  /** The part of the map that is on the screen, and a little around it; null until there is a map. */
  readonly bounds = new Signal<Bounds | null>(null);

  readonly hello = new Signal<Hello | null>(null);
  readonly stats = new Signal<Stats | null>(null);
  readonly frame = new Signal<Frame | null>(null);
  /** The handles of the present that have just come to stand for other objects. */
  readonly reused = new Signal<readonly number[]>([]);
  /** The events of the last message that had any; also those that no filter shows. */
  readonly events = new Signal<readonly FenceEvent[]>([]);
  /** Changes whenever the feed's rows may have. */
  readonly feedTick = new Signal(0);
  /** Changes whenever the feed is asked for from elsewhere on the page. */
  readonly feedWanted = new Signal(0);
  readonly paused = new Signal(false);
  /** Whether the map keeps the selected object in its middle. */
  readonly following = new Signal(false);
  /** Events that were missed while the page has been open, as far as the server could count them. */
  readonly missed = new Signal(0);
  /** The last gap in the events. */
  readonly gap = new Signal<Gap | null>(null);
  /** Changes when panels cover another part of the map. */
  readonly covered = new Signal(0);
  readonly map = new Signal<MapActions | null>(null);
  /** Whether this browser cannot show the map. */
  readonly mapFailed = new Signal(false);
  /** Where the selected event happened, and when, whose path led there; without an object there is no path. */
  readonly marked = new Signal<Marked | null>(null);
  /** What names the source of the base map. */
  readonly attribution = new Signal("");
  /** In the middle of the map; 0 until there is one. */
  readonly metresPerPixel = new Signal(0);
  /** The place on the map under the pointer; null while it is elsewhere. */
  readonly pointer = new Signal<readonly [lon: number, lat: number] | null>(null);
  /** What the key of this browser permits; null: that is not known. */
  readonly grant = new Signal<Grant | null>(null);
  /** Whether a fence is being drawn or edited: the map's pointer works for that then. */
  readonly editing = new Signal(false);
  /** A sentence for screen readers, told at once. */
  readonly said = new Signal("");
  connection!: Connection;
  past!: Player;

  get objects(): Objects {
    return this.scene.value.objects;
  }

  get trails(): Trails {
    return this.scene.value.trails;
  }

  get feed(): Feed {
    return this.scene.value.feed;
  }

  /** Shows another scene, with its last picture. */
  show(scene: Scene): void {
    this.scene.set(scene);
    this.paused.set(scene.feed.paused);
    this.frame.set(scene.objects.frame);
    this.feedTick.update((n) => n + 1);
  }

  /** Shows the details of something; null closes them. Selecting an object also follows it. */
  select(selection: Selection | null): void {
    this.following.set(selection?.kind === "object");
    this.view.update((view) => ({ ...view, selection }));
  }

  setPaused(paused: boolean): void {
    this.feed.paused = paused;
    this.paused.set(paused);
    this.feed.tick(Date.now());
    this.feedTick.update((n) => n + 1);
  }

  setFilter(change: Partial<View["filter"]>): void {
    this.view.update((view) => ({ ...view, filter: { ...view.filter, ...change } }));
  }

  /** Shows the events of one rule alone, and the feed if it is out of sight. */
  showRule(rule: string): void {
    this.setFilter({ ...noFilter, rule });
    this.feedWanted.update((n) => n + 1);
  }

  toggleSet(name: string): void {
    this.view.update((view) => {
      const hidden = view.hidden.includes(name) ? view.hidden.filter((other) => other !== name) : [...view.hidden, name];
      return { ...view, hidden };
    });
  }
}
