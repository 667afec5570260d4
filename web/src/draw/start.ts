// Start: the buttons that begin drawing and editing, and the addresses that do. The code behind them is loaded then.

import type { App } from "../app";
import { h, icon, type IconName } from "../dom";
import { parseRequest, type Request } from "./link";
import { fetchGrant } from "./requests";
import { mayWrite } from "./rights";

/** Learns what the key permits, and does what the address requests. */
export async function startDrawing(app: App): Promise<void> {
  const request = parseRequest(location.search); // before the view writes its own address
  await learnGrant(app);
  if (request && app.grant.value) void draw(app, request);
}

/** Learns what the key permits now. */
export async function learnGrant(app: App): Promise<void> {
  try {
    app.grant.set(await fetchGrant());
  } catch {
    // Offline: the banner says so.
  }
}

/** A second click while the code loads begins nothing. */
let starting = false;

/** Begins to draw or edit; a failure is told on the page. */
export async function draw(app: App, request: Request): Promise<void> {
  if (app.editing.value || starting) return;
  starting = true;
  try {
    const [{ begin }, map] = await Promise.all([import("./session"), mapOf(app)]);
    await begin(app, map.gl, request);
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error));
  } finally {
    starting = false;
  }
}

/** The map, when its code has loaded; it rejects if this browser cannot show one. */
export function mapOf(app: Pick<App, "map" | "mapFailed">): Promise<NonNullable<App["map"]["value"]>> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      if (app.map.value) resolve(app.map.value);
      else if (app.mapFailed.value) reject(new Error("Fences are drawn on the map, which this browser cannot show here."));
      else return;
      for (const unwatch of unwatches) unwatch();
    };
    const unwatches = [app.map.watch(settle), app.mapFailed.watch(settle)];
    settle();
  });
}

function tell(text: string): void {
  document.getElementById("draw-refused")?.remove();
  const close = h("button", { type: "button", class: "icon-button", "aria-label": "Close what was said", onclick: () => note.remove() }, icon("close"));
  const note = h("section", { class: "greeting card", id: "draw-refused", role: "alert" }, h("p", {}, text), close);
  document.getElementById("middle")?.append(note);
}

/** Calls the function now, and again when it is known what the key permits. */
function whenGranted(app: App, show: () => void): void {
  show();
  if (app.grant.value) return;
  const unwatch = app.grant.watch(() => {
    unwatch();
    show();
  });
}

/** The button that draws a new fence, in the sets' card. */
export function drawButton(app: App): HTMLElement {
  const button = h(
    "button",
    { type: "button", class: "copy draw-new", title: "Draw a fence on the map (d)", onclick: () => void draw(app, { kind: "draw", shape: "polygon" }) },
    icon("edit"),
    "Draw",
  );
  whenGranted(app, () => (button.hidden = !mayWrite(app.grant.value)));
  return button;
}

/** The buttons that change a fence, for its details. */
export function fenceButtons(app: App, set: string, fence: string): HTMLElement[] {
  const button = (kind: "edit" | "copy" | "delete", name: IconName, label: string): HTMLElement => {
    const element = h(
      "button",
      { type: "button", class: "icon-button", "aria-label": label, title: label, onclick: () => void draw(app, { kind, set, fence }) },
      icon(name),
    );
    whenGranted(app, () => (element.hidden = !mayWrite(app.grant.value, set)));
    return element;
  };
  return [button("edit", "edit", "Edit this fence"), button("copy", "copy", "Copy this fence"), button("delete", "trash", "Delete this fence")];
}
