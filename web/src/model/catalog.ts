// Catalog: loads the sets and keeps them current; a set is fetched again when its generation has changed.

import { fetchSet, fetchSets, type SetInfo } from "../api";
import { Signal } from "../signal";
import { buildSet, type FenceInfo, type FenceSet } from "./sets";

export class Catalog {
  /** What the server has, whether its fences have been loaded yet or not. */
  readonly infos = new Signal<readonly SetInfo[]>([]);
  readonly sets = new Signal<ReadonlyMap<string, FenceSet>>(new Map());
  /** The last failure to load something, "" if all is well. */
  readonly error = new Signal("");
  readonly #colours = new Map<string, number>();
  readonly #loading = new Map<string, number>();
  readonly #tags = new Map<string, string>();

  /** Asks for everything anew: after a restart of the server its generations say nothing about what is here. */
  async load(): Promise<void> {
    try {
      await this.apply(await fetchSets(), true);
    } catch (error) {
      this.error.set(`The sets could not be loaded: ${message(error)}`);
    }
  }

  /** Takes the server's list of sets; resolves when those that differ have been fetched. */
  async apply(infos: readonly SetInfo[], anew = false): Promise<void> {
    this.infos.set([...infos].sort((a, b) => (a.name < b.name ? -1 : 1)));
    for (const { name } of this.infos.value) {
      if (!this.#colours.has(name)) this.#colours.set(name, this.#colours.size);
    }
    const names = new Set(infos.map(({ name }) => name));
    if ([...this.sets.value.keys()].some((name) => !names.has(name))) {
      this.sets.update((sets) => new Map([...sets].filter(([name]) => names.has(name))));
    }
    await Promise.all(this.infos.value.map((info) => this.#fetch(info, anew)));
  }

  fence(set: string, key: string): FenceInfo | undefined {
    return this.sets.value.get(set)?.byKey.get(key);
  }

  colour(set: string): number {
    return this.sets.value.get(set)?.colour ?? this.#colours.get(set) ?? 0;
  }

  /** A name for the fence that also works before its set has been loaded. */
  label(set: string, key: string): string {
    return this.fence(set, key)?.label ?? key;
  }

  async #fetch(info: SetInfo, anew: boolean): Promise<void> {
    const { name, generation } = info;
    const present = this.sets.value.get(name);
    if ((!anew && present?.info.generation === generation) || this.#loading.get(name) === generation) return;
    this.#loading.set(name, generation);
    try {
      const fetched = await fetchSet(name, present ? this.#tags.get(name) : "");
      if (this.#loading.get(name) !== generation || !fetched) return; // a newer one is on its way, or nothing is new
      if (!this.infos.value.some((present) => present.name === name)) return; // removed meanwhile
      const built = buildSet(info, this.colour(name), fetched.doc);
      this.#tags.set(name, fetched.tag);
      this.sets.update((sets) => new Map(sets).set(name, built));
      this.error.set("");
    } catch (error) {
      this.error.set(`The set ${name} could not be loaded: ${message(error)}`);
    } finally {
      if (this.#loading.get(name) === generation) this.#loading.delete(name);
    }
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
