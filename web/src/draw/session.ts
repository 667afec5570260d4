// Session: one fence that is drawn or edited, from its beginning to its end. This module and what it imports is a chunk
// of its own, which is loaded when a person begins.

import "../style/button.css";
import "../style/draw.css";
import type { Map as GLMap, PaddingOptions } from "maplibre-gl";
import { fetchSets, type Grant, type SetInfo } from "../api";
import type { App } from "../app";
import { plural } from "../format";
import { confirm } from "../frame/dialog";
import { boundsOf as boxOfGeometry, union } from "../model/sets";
import { Canvas } from "./canvas";
import { Editor } from "./editor";
import { Input } from "./input";
import type { Request } from "./link";
import { Panel } from "./panel";
import { fetchStored, type Stored } from "./requests";
import { mayWrite } from "./rights";
import { Saving } from "./saving";
import { Screen } from "./screen";
import { boundsOf, type Shape } from "./shape";
import { findingText } from "./validate";

/** Steps of a keyboard follow each other closely: only the last one is told. */
const sayAfterMs = 350;

/** Where the panel is a sheet: as in the style sheet. */
const narrow = matchMedia("(max-width: 799px)");

/** CSS pixels to leave free; beside the map's own margins, which do not count that the panel is wider than the sets. */
function around(): PaddingOptions {
  return narrow.matches ? { left: 30, right: 30, top: 30, bottom: 30 } : { left: 140, right: 60, top: 60, bottom: 60 };
}

/** Draws or edits a fence as requested; resolves when that has ended. */
export async function begin(app: App, map: GLMap, request: Request): Promise<void> {
  const [sets, stored] = await Promise.all([
    fetchSets(),
    request.kind === "draw" ? null : fetchStored(request.set, request.fence),
  ]);
  const { grant } = app;
  if (request.kind !== "draw" && !stored) throw new Error(`The set ${request.set} has no fence ${request.fence}.`);
  const set = stored?.set ?? request.set ?? "";
  if (!mayWrite(grant.value, set || undefined)) {
    throw new Error(`The key ${grant.value?.name ?? ""} may not change fences${set === "" ? "" : ` of ${set}`}.`);
  }
  const session = new Session(app, map, request, sets, stored);
  if (request.kind === "delete") await session.removeOnly();
  await session.ended;
}

class Session {
  readonly ended: Promise<void>;
  readonly #app: App;
  readonly #map: GLMap;
  readonly #editor: Editor;
  readonly #saving: Saving;
  readonly #canvas: Canvas;
  readonly #input: Input;
  readonly #panel: Panel;
  readonly #abort = new AbortController();
  readonly #unwatch: (() => void)[];
  readonly #opener = document.activeElement;
  #end!: () => void;
  #asking = false;

  constructor(app: App, map: GLMap, request: Request, sets: readonly SetInfo[], stored: Stored | null) {
    this.#app = app;
    this.#map = map;
    this.ended = new Promise((resolve) => (this.#end = resolve));
    const writable = sets.filter(({ name }) => mayWrite(app.grant.value, name));
    const first = (request.kind === "draw" ? request.set : undefined) ?? writable.find(({ name }) => !app.view.value.hidden.includes(name))?.name;
    const editor = new Editor(request.kind === "draw" ? request.shape : "polygon", first ?? "", (set, id) => app.catalog.fence(set, id) !== undefined);
    if (stored) editor.open(stored, request.kind === "copy");
    const screen = new Screen(map);
    this.#editor = editor;
    this.#saving = new Saving(editor);
    this.#canvas = new Canvas(map, screen, editor, this.#saving);
    this.#input = new Input(map, screen, editor, this.#canvas);
    this.#panel = new Panel({
      editor, saving: this.#saving, canvas: this.#canvas, input: this.#input, sets: writable, mayMakeSets: mayMake(app.grant.value),
      actions: {
        close: () => void this.#leave(),
        save: () => void this.#save(),
        copy: () => void this.#copy(),
        remove: () => void this.#remove(),
      },
    });
    this.#unwatch = [this.#tell(), this.#watchSelection()];
    this.#show(stored);
    this.#listen();
  }

  /** Asks whether to delete the fence, and ends without an answer. */
  async removeOnly(): Promise<void> {
    await this.#remove();
    if (this.#saving.conflict.value === null && this.#saving.error.value === "") await this.#leave();
  }

  #show(stored: Stored | null): void {
    const app = this.#app;
    app.select(null);
    document.getElementById("left")!.prepend(this.#panel.element);
    app.editing.set(true);
    const { shape } = this.#editor.draft.value;
    if (stored && shape) requestAnimationFrame(() => this.#map.fitBounds(boxOf(shape), { padding: around(), maxZoom: 17, duration: 400 }));
    this.#panel.focus();
  }

  /** On a phone the sheet grows when a drawing is finished: what is below it then is brought above it. */
  #uncover(shape: Shape): void {
    const [w, s, e, n] = boxOf(shape);
    const { top, left } = this.#panel.element.getBoundingClientRect();
    const corner = this.#map.project([e, s]);
    if (corner.x < left || corner.y < top) return;
    this.#map.fitBounds([w, s, e, n], { padding: 30, maxZoom: this.#map.getZoom(), duration: 300 });
  }

  /** Brings what is here and what another writer has stored into view. */
  #compare(theirs: Stored): void {
    const { shape } = this.#editor.draft.value;
    const box = union([...(shape ? [boxOf(shape)] : []), boxOfGeometry(theirs.feature.geometry)]);
    if (box) this.#map.fitBounds(box, { padding: around(), maxZoom: this.#map.getZoom(), duration: 300 });
  }

  #listen(): void {
    const { signal } = this.#abort;
    document.addEventListener("keydown", (event) => this.#key(event), { capture: true, signal });
    addEventListener("beforeunload", (event) => {
      if (this.#editor.dirty) event.preventDefault();
    }, { signal });
  }

  /** A drawing is finished: a keyboard that was on the map, or on a button that is gone, goes on in the panel. */
  #goOn(): void {
    const focused = document.activeElement;
    const lost = focused === document.body || focused?.closest(".draw-stage");
    if (lost || this.#canvas.crosshair.value) this.#panel.focus();
  }

  /** Passes sentences to the page's announcer, and the measures of what has moved. */
  #tell(): () => void {
    let timer: number | undefined;
    const say = (text: string): void => {
      clearTimeout(timer);
      if (text !== "") timer = window.setTimeout(() => this.#app.said.set(text), sayAfterMs);
    };
    const ends = [
      this.#editor.said.watch(say),
      this.#editor.draft.watch((draft, before) => {
        if (before.drawing && !draft.drawing) this.#goOn();
        if (!draft.shape || draft.shape === before.shape) return;
        say(this.#editor.summary());
        if (before.drawing && narrow.matches) requestAnimationFrame(() => draft.shape && this.#uncover(draft.shape));
      }),
      this.#saving.conflict.watch((conflict) => {
        if (conflict?.theirs) this.#compare(conflict.theirs);
      }),
      this.#saving.findings.watch((findings) => say(findings[0] ? `${plural(findings.length, "finding")}: ${findingText(findings[0])}` : "The server finds nothing wrong any more.")),
    ];
    return () => {
      clearTimeout(timer);
      for (const end of ends) end();
    };
  }

  /** Another part of the page wants to show something: that ends the editing, if nothing is lost by it. */
  #watchSelection(): () => void {
    return this.#app.view.watch((now, before) => {
      if (now.selection === null || now.selection === before.selection) return;
      const wanted = now.selection;
      this.#app.select(null);
      void this.#leave(() => this.#app.select(wanted));
    });
  }

  #key(event: KeyboardEvent): void {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const { target } = event;
    const field = target instanceof HTMLElement && target.matches("input:not([type=checkbox]), textarea, select");
    const control = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (key === "escape") {
      if (target instanceof Element && target.closest(":popover-open")) return;
      if (!this.#editor.abandonHole()) void this.#leave();
    } else if (control && !event.altKey && !field && key === "z") {
      if (event.shiftKey) this.#editor.redo();
      else this.#editor.undo();
    } else if (control && !field && key === "y") this.#editor.redo();
    else if (control && key === "s" && !this.#editor.draft.value.drawing) void this.#save();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  async #save(): Promise<void> {
    if (this.#editor.faults.length > 0) {
      this.#panel.showFaults();
      return;
    }
    if (!(await this.#saving.save())) return;
    const { set, id } = this.#editor.target.value;
    this.#finish(`The fence ${this.#editor.draft.value.name || id} is saved.`);
    if (this.#app.view.value.hidden.includes(set)) this.#app.toggleSet(set);
    this.#app.catalog.made(set, id);
    this.#app.select({ kind: "fence", set, fence: id });
  }

  async #copy(): Promise<void> {
    const { stored } = this.#editor;
    if (!stored || this.#saving.busy.value || !(await this.#mayLose())) return;
    this.#editor.open(stored, true);
    this.#editor.say("A copy. Move it, name it, and save it.");
    this.#panel.focus();
  }

  async #remove(): Promise<void> {
    const { stored, draft } = this.#editor;
    if (!stored || this.#saving.busy.value) return;
    const name = draft.value.name || stored.id;
    const text = `Objects that are in it leave it with an exit. Rules and links that name ${stored.set}/${stored.id} find nothing any more.`;
    const sure = await confirm({ title: `Delete ${name} from ${stored.set}?`, text, action: "Delete" });
    if (sure && (await this.#saving.remove())) this.#finish(`The fence ${name} is deleted.`);
  }

  async #mayLose(): Promise<boolean> {
    if (!this.#editor.dirty) return true;
    if (this.#asking) return false;
    this.#asking = true;
    const lose = await confirm({ title: "Discard the changes?", text: "What you have drawn or changed has not been saved.", action: "Discard" });
    this.#asking = false;
    return lose;
  }

  async #leave(then?: () => void): Promise<void> {
    // The answer to what is being sent tells how this ends.
    if (this.#abort.signal.aborted || this.#saving.busy.value || !(await this.#mayLose())) return;
    const { stored } = this.#editor;
    this.#finish("Editing has ended; nothing was saved.");
    if (then) then();
    else if (stored) this.#app.select({ kind: "fence", set: stored.set, fence: stored.id });
  }

  /** The focus goes back to what began this, to the details that are open now, or to the map. */
  #giveFocus(): void {
    const places = [this.#opener, document.getElementById("details-title"), this.#map.getCanvas()];
    const place = places.find((element) => element !== document.body && visible(element));
    if (place) (place as HTMLElement).focus({ preventScroll: true });
  }

  #finish(said: string): void {
    const app = this.#app;
    this.#abort.abort();
    for (const unwatch of this.#unwatch) unwatch();
    this.#input.stop();
    this.#canvas.stop();
    this.#saving.stop();
    this.#panel.stop();
    app.editing.set(false);
    app.said.set(said);
    requestAnimationFrame(() => this.#giveFocus());
    this.#end();
  }
}

function visible(element: Element | null): element is HTMLElement {
  return element instanceof HTMLElement && element.offsetParent !== null;
}

function boxOf(shape: Shape): [number, number, number, number] {
  if (shape.kind !== "circle") return boundsOf(shape);
  const { centre: [lon, lat], radius } = shape;
  const dy = radius / 111_320;
  const dx = dy / Math.max(0.01, Math.cos((lat * Math.PI) / 180));
  return [lon - dx, Math.max(-90, lat - dy), lon + dx, Math.min(90, lat + dy)];
}

/** A key for some sets makes no others. */
function mayMake(grant: Grant | null): boolean {
  return mayWrite(grant) && grant?.sets === undefined;
}
