// Saving: checks a draft with the server while it is edited, stores it, and deletes what is stored.

import { ApiError, createSet, type Finding } from "../api";
import { Signal } from "../signal";
import type { Editor } from "./editor";
import { changeStored, deleteFence, isStatus, putFence, type Outcome, type Stored } from "./requests";

/** A draft is checked when it has rested this long, unless it is larger than the second bound. */
const restMs = 400;
const mostChecked = 1 << 20;

/** Another writer has changed the fence meanwhile, or deleted it (null). */
export interface Conflict {
  readonly theirs: Stored | null;
}

export class Saving {
  readonly findings = new Signal<readonly Finding[]>([]);
  readonly conflict = new Signal<Conflict | null>(null);
  readonly busy = new Signal(false);
  /** The last failure, "" if there is none. */
  readonly error = new Signal("");
  readonly #editor: Editor;
  readonly #unwatch: (() => void)[];
  /** The body to which the findings belong. */
  #checked = "";
  #timer: number | undefined;

  constructor(editor: Editor) {
    this.#editor = editor;
    this.#unwatch = [editor.draft.watch(() => this.#changed()), editor.target.watch(() => this.#changed())];
  }

  stop(): void {
    clearTimeout(this.#timer);
    for (const unwatch of this.#unwatch) unwatch();
  }

  /** Whether the findings are those of what is here, so that saving it is a decision. */
  get warned(): boolean {
    return this.findings.value.length > 0 && this.#checked === this.#editor.body;
  }

  #changed(): void {
    this.error.set("");
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#check(), restMs);
  }

  async #check(): Promise<void> {
    const { faults } = this.#editor;
    if (faults.some(({ field }) => field === "shape")) this.#found([], "");
    if (faults.length > 0 || this.busy.value) return;
    try {
      await this.#try(this.#editor.body);
    } catch {
      // Saving reports what keeps failing.
    }
  }

  /** Has the server look at a body; of a refusal only the findings count here. */
  async #try(body: string): Promise<void> {
    if (body.length > mostChecked) return this.#found([], "");
    const { set, id } = this.#editor.target.value;
    let findings: readonly Finding[];
    try {
      ({ findings } = await putFence(set, id, body, null, true));
    } catch (error) {
      if (!isStatus(error, 400) || error.findings.length === 0) throw error;
      findings = error.findings;
    }
    if (body === this.#editor.body) this.#found(findings, body);
  }

  #found(findings: readonly Finding[], body: string): void {
    this.#checked = body;
    if (findings.length > 0 || this.findings.value.length > 0) this.findings.set(findings);
  }

  /** Stores the draft. It resolves to false if something is in the way, which is then told. */
  async save(): Promise<boolean> {
    if (this.busy.value) return false;
    this.error.set("");
    this.#hold(true);
    try {
      return await this.#save();
    } catch (error) {
      if (error instanceof ApiError && error.findings.length > 0) this.#found(error.findings, this.#editor.body);
      this.error.set(messageOf(error));
      return false;
    } finally {
      this.#hold(false);
    }
  }

  /** What is being sent does not change meanwhile: the answer is about it. */
  #hold(busy: boolean): void {
    this.#editor.locked = busy;
    this.busy.set(busy);
  }

  async #save(): Promise<boolean> {
    const editor = this.#editor;
    const { body } = editor;
    const warned = this.warned;
    if (!warned && this.#checked !== body) await this.#try(body);
    // Told for the first time: the person decides.
    if (!warned && this.findings.value.length > 0) return false;
    await this.#makeSet();
    const { set, id } = editor.target.value;
    const { stored } = editor;
    if (stored) return this.#settle(await changeStored(stored, (tag) => putFence(set, id, body, { tag }, false)));
    try {
      await putFence(set, id, body, "absent", false);
      return true;
    } catch (error) {
      if (!isStatus(error, 412)) throw error;
      this.error.set(`The set ${set} already has a fence ${id}. Choose another id.`);
      return false;
    }
  }

  async #makeSet(): Promise<void> {
    const { set, newSet } = this.#editor.target.value;
    if (!newSet) return;
    try {
      await createSet(set, new Blob(['{"type":"FeatureCollection","features":[]}']));
    } catch (error) {
      if (!isStatus(error, 409)) throw error; // it is there already: that is as good
    }
    this.#editor.setMade();
  }

  #settle(result: { done: Outcome | undefined } | { conflict: Stored | null }): boolean {
    if ("done" in result) return true;
    this.conflict.set({ theirs: result.conflict });
    return false;
  }

  /** Deletes the stored fence, unless another writer has changed it. */
  async remove(): Promise<boolean> {
    const { stored } = this.#editor;
    if (!stored || this.busy.value) return false;
    this.#hold(true);
    try {
      const result = await changeStored(stored, async (tag) => {
        await deleteFence(stored.set, stored.id, tag);
        return undefined;
      });
      // Another writer has deleted it already.
      return "conflict" in result && result.conflict === null ? true : this.#settle(result);
    } catch (error) {
      this.error.set(messageOf(error));
      return false;
    } finally {
      this.#hold(false);
    }
  }

  /** Drops what is here for what another writer has stored. */
  takeTheirs(): void {
    const theirs = this.conflict.value?.theirs;
    this.conflict.set(null);
    if (theirs) this.#editor.open(theirs);
  }

  /** Keeps what is here as a fence of its own. */
  keepMine(): void {
    const free = this.conflict.value?.theirs === null;
    this.conflict.set(null);
    this.#editor.becomeNew(free);
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
