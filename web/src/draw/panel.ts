// Panel: the card beside the map while a fence is drawn or edited.

import type { SetInfo } from "../api";
import { fill, h, icon, setText, type IconName } from "../dom";
import { plural } from "../format";
import { pairs } from "../ui/parts";
import type { Canvas } from "./canvas";
import { hintOf, type Editor } from "./editor";
import { button, type FaultsOf, type Part } from "./fields";
import { createBasics, createSettings, createTarget } from "./form";
import type { Input } from "./input";
import { measures } from "./measure";
import { createRows } from "./rows";
import type { Saving } from "./saving";
import type { Kind } from "./shape";
import { findingText, nearestPlace } from "./validate";
import { createVertices } from "./vertices";

export interface Actions {
  close(): void;
  save(): void;
  copy(): void;
  remove(): void;
}

export interface PanelParts {
  editor: Editor;
  saving: Saving;
  canvas: Canvas;
  input: Input;
  sets: readonly SetInfo[];
  mayMakeSets: boolean;
  actions: Actions;
}

const kinds: readonly [Kind, string, IconName][] = [
  ["polygon", "Polygon", "polygon"],
  ["circle", "Circle", "circle"],
  ["corridor", "Corridor", "corridor"],
  ["line", "Line", "line"],
];

export class Panel {
  readonly element: HTMLElement;
  readonly #parts: PanelParts;
  readonly #title = h("h2", { id: "draw-title", tabindex: -1 });
  readonly #kind = h("span", { class: "details-kind" });
  readonly #close: HTMLButtonElement;
  readonly #all: Part[];
  /** What rests while the fence is sent. */
  readonly #resting: readonly Part[];
  readonly #unwatch: (() => void)[];
  /** Faults are told once saving has been tried. */
  #tried = false;
  #pending = false;
  /** What had the focus when the fence was sent. */
  #focused: HTMLElement | null = null;

  constructor(parts: PanelParts) {
    this.#parts = parts;
    const { editor, saving, canvas, actions } = parts;
    const faultsOf: FaultsOf = (field) => (this.#tried ? editor.faults.filter((fault) => fault.field === field) : []);
    const form = this.#form(faultsOf);
    const notices = this.#notices();
    const footer = this.#footer();
    const tools = this.#tools();
    const drawing = this.#drawing();
    this.#all = [tools, drawing, notices, form, footer];
    this.#resting = [tools, form, footer];
    this.#close = h("button", { type: "button", class: "icon-button", "aria-label": "Close without saving", title: "Close (Esc)", onclick: () => actions.close() }, icon("close"));
    this.element = h(
      "section",
      { class: "card draw-card", "aria-labelledby": this.#title.id },
      h("div", { class: "card-head" }, h("div", { class: "details-name" }, this.#kind, this.#title), this.#close),
      tools.element,
      h("div", { class: "scroll draw-body" }, drawing.element, notices.element, form.element),
      footer.element,
    );
    const signals = [editor.draft, editor.target, editor.selected, editor.cursor, saving.findings, saving.conflict, saving.busy, saving.error, canvas.tooMany];
    this.#unwatch = signals.map((signal) => (signal as typeof editor.cursor).watch(() => this.#soon()));
    this.update();
  }

  stop(): void {
    for (const unwatch of this.#unwatch) unwatch();
    this.element.remove();
  }

  focus(): void {
    this.#title.focus({ preventScroll: true });
  }

  /** Shows what is wrong, at the fields, and goes to the first of them. */
  showFaults(): void {
    this.#tried = true;
    this.update();
    const [first] = this.#parts.editor.faults;
    if (!first) return;
    const input = this.element.querySelector<HTMLElement>(`[data-fault="${first.field}"]:not([hidden])`);
    (input ?? this.#title).focus();
    this.#parts.editor.say(first.text);
  }

  /** A pointer moves more often than a screen shows. */
  #soon(): void {
    if (this.#pending) return;
    this.#pending = true;
    queueMicrotask(() => {
      this.#pending = false;
      this.update();
    });
  }

  update(): void {
    const { editor } = this.#parts;
    const { kind, drawing, name } = editor.draft.value;
    const { id, set } = editor.target.value;
    setText(this.#kind, editor.stored ? `Editing · ${set}` : drawing ? "Drawing" : "New fence");
    setText(this.#title, editor.stored ? name || id : drawing?.hole ? "A hole" : name || `A ${kind}`);
    this.element.dataset.stage = drawing ? "draw" : "edit";
    for (const part of this.#all) part.update();
    this.#rest(this.#parts.saving.busy.value);
  }

  /** Nothing can be changed while the fence is sent. Afterwards the keyboard goes on where it was. */
  #rest(busy: boolean): void {
    if (this.#close.disabled === busy) return;
    const focused = document.activeElement;
    if (busy) this.#focused = focused instanceof HTMLElement && this.element.contains(focused) ? focused : null;
    this.#close.disabled = busy;
    for (const { element } of this.#resting) element.inert = busy;
    if (!busy && (focused === null || focused === document.body)) this.#focused?.focus({ preventScroll: true });
  }

  /** Undo, redo, and the measures of what is there. */
  #tools(): Part {
    const { editor } = this.#parts;
    const tool = (name: IconName, label: string, run: () => void): HTMLButtonElement =>
      h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick: run }, icon(name));
    const undo = tool("undo", "Undo (Ctrl+Z)", () => editor.undo());
    const redo = tool("redo", "Redo (Ctrl+Shift+Z)", () => editor.redo());
    const measured = h("div", { class: "draw-measures" });
    return {
      element: h("div", { class: "draw-tools" }, measured, undo, redo),
      update() {
        undo.disabled = !editor.canUndo;
        redo.disabled = !editor.canRedo;
        const { preview } = editor;
        const rows = preview ? measures(preview, editor.buffer) : [];
        fill(measured, rows.length > 0 ? pairs(rows) : h("p", { class: "note" }, "Nothing is drawn yet."));
      },
    };
  }

  /** The choice of a kind and what to do next, as long as something is being drawn. */
  #drawing(): Part {
    const { editor, input } = this.#parts;
    const choices = kinds.map(([kind, label, sign]) => {
      const choice = h("button", { type: "button", class: "draw-kind", onclick: () => editor.choose(kind) }, icon(sign), label);
      return { kind, choice };
    });
    const chooser = h("div", { class: "draw-kinds", role: "group", "aria-label": "What to draw" }, ...choices.map(({ choice }) => choice));
    const hint = h("p", { class: "draw-hint" });
    const finish = button("Finish", () => editor.finish(), "button primary");
    const abandon = button("No hole", () => editor.abandonHole());
    const keyboard = button("Draw by keyboard", () => input.useKeyboard(), "button draw-by-keys", icon("keyboard"));
    const keys = h("p", { class: "note" }, "Arrow keys move the map below the cross, with Shift further. Enter places a point, again at the same place it finishes, Backspace takes it back.");
    return {
      element: h("div", { class: "part draw-stage" }, chooser, hint, h("div", { class: "actions begin" }, finish, abandon, keyboard), keys),
      update: () => {
        const draft = editor.draft.value;
        const { drawing } = draft;
        this.element.querySelector<HTMLElement>(".draw-stage")!.hidden = drawing === null;
        chooser.hidden = editor.stored !== null || drawing?.hole === true || (drawing?.points.length ?? 0) > 0;
        for (const { kind, choice } of choices) choice.setAttribute("aria-pressed", String(kind === draft.kind));
        setText(hint, hintOf(draft));
        finish.disabled = !editor.complete;
        finish.hidden = draft.kind === "circle" && !drawing?.hole;
        abandon.hidden = !drawing?.hole;
      },
    };
  }

  /** What the server has found, what another writer did, and what went wrong. */
  #notices(): Part {
    const { editor, saving, canvas } = this.#parts;
    const error = h("p", { class: "draw-error", role: "alert", hidden: true });
    const findings = h("ul", { class: "draw-findings", "aria-label": "What the server found" });
    const crowded = h("p", { class: "draw-notice", hidden: true });
    const conflict = h("div", { class: "draw-conflict", role: "alert", hidden: true });
    let told: unknown;
    return {
      element: h("div", { class: "draw-notices" }, error, conflict, findings, crowded),
      update() {
        setText(error, saving.error.value);
        error.hidden = saving.error.value === "";
        crowded.hidden = canvas.tooMany.value === 0;
        setText(crowded, `${plural(canvas.tooMany.value, "point")} are in view, which are too many to take hold of. Zoom in.`);
        if (told !== saving.findings.value) {
          told = saving.findings.value;
          fill(findings, ...saving.findings.value.map((finding) => {
            const { at } = finding;
            const go = (): void => {
              const { shape } = editor.draft.value;
              if (at && shape) editor.selected.set(nearestPlace(shape, at));
            };
            return h("li", { class: finding.refused ? "refused" : undefined }, icon("gap"), h("span", {}, findingText(finding)), at ? button("Show", go, "link") : null);
          }));
          findings.hidden = saving.findings.value.length === 0;
        }
        showConflict(conflict, saving);
      },
    };
  }

  #form(faultsOf: FaultsOf): Part {
    const { editor, input, sets, mayMakeSets } = this.#parts;
    const cut = button("Cut a hole", () => editor.cut(), "button", icon("hole"));
    const hint = h("p", { class: "draw-hint" });
    const shape = h("div", { class: "part draw-shape" }, hint, cut);
    const basics = createBasics(editor, faultsOf);
    const target = createTarget(editor, sets, mayMakeSets, faultsOf);
    const settings = createSettings(editor, faultsOf);
    const rows = createRows(editor, faultsOf);
    const vertices = createVertices(editor, input);
    const names = h("div", { class: "part" }, basics.element, target.element);
    const element = h("div", {}, shape, names, vertices.element, settings.element, rows.element);
    return {
      element,
      update() {
        const draft = editor.draft.value;
        element.hidden = draft.drawing !== null;
        setText(hint, hintOf(draft));
        cut.hidden = draft.shape?.kind !== "polygon";
        for (const part of [basics, target, settings, rows, vertices]) part.update();
      },
    };
  }

  #footer(): Part {
    const { editor, saving, actions } = this.#parts;
    const save = button("", () => actions.save(), "button primary");
    const cancel = button("Cancel", () => actions.close());
    const copy = h("button", { type: "button", class: "icon-button", "aria-label": "Copy this fence", title: "Copy", onclick: () => actions.copy() }, icon("copy"));
    const remove = h("button", { type: "button", class: "icon-button draw-remove", "aria-label": "Delete this fence", title: "Delete", onclick: () => actions.remove() }, icon("trash"));
    return {
      element: h("div", { class: "draw-footer" }, save, cancel, h("span", { class: "draw-gap" }), copy, remove),
      update() {
        setText(save, saving.busy.value ? "Saving…" : saving.warned && !saving.findings.value.some(({ refused }) => refused) ? "Save anyway" : "Save");
        const { drawing } = editor.draft.value;
        save.hidden = drawing !== null;
        save.disabled = saving.busy.value || saving.conflict.value !== null || (editor.stored !== null && !editor.dirty);
        copy.hidden = remove.hidden = editor.stored === null || drawing !== null;
      },
    };
  }
}

function showConflict(target: HTMLElement, saving: Saving): void {
  const conflict = saving.conflict.value;
  if (target.hidden === (conflict === null)) return;
  target.hidden = conflict === null;
  if (!conflict) return;
  const gone = conflict.theirs === null;
  const text = gone
    ? "Meanwhile this fence has been deleted."
    : "Meanwhile this fence has been changed. The dotted outline on the map is how it is now.";
  fill(
    target,
    h("p", {}, text),
    h(
      "div",
      { class: "actions begin" },
      gone ? null : button("Take theirs", () => saving.takeTheirs()),
      button(gone ? "Keep mine as a new fence" : "Keep mine as a copy", () => saving.keepMine()),
    ),
  );
}
