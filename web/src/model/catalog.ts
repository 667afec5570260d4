// Catalog: loads the sets and keeps them current; a set is loaded again when its generation has changed, and after a failure.
// Of a large set only the requested fences are fetched.

import { ApiError, fetchFence, fetchSet, fetchSets, type Properties, type SetInfo } from "../api";
import { backoffMs } from "../live/backoff";
import { Signal } from "../signal";
import { LargeSet } from "./largeset";
import { boundsOf, buildSet, isLarge, nameAlone, type FenceInfo, type FenceName, type FenceSet } from "./sets";

/** A large set that changes all the time is redrawn at most this often: the server has to work for it too. */
const redrawEveryMs = 3_000;

/** A failure to load something. */
interface Failure {
  text: string;
  /** In a row. */
  times: number;
  /** The timer of the next attempt. */
  again?: number;
}

/** The key of the list of sets among failures: no set has this name. */
const list = "";

export class Catalog {
  /** What the server has, whether its fences have been loaded yet or not. */
  readonly infos = new Signal<readonly SetInfo[]>([]);
  readonly sets = new Signal<ReadonlyMap<string, FenceSet>>(new Map());
  /** Whether infos has come from the server yet. */
  readonly listed = new Signal(false);
  /** The last failure to load something that has not been loaded since, "" if all is well. */
  readonly error = new Signal("");
  readonly #colours = new Map<string, number>();
  readonly #loading = new Map<string, number>();
  readonly #tags = new Map<string, string>();
  /** Of large sets: when they were drawn, and which of them wait to be redrawn. */
  readonly #redrawn = new Map<string, number>();
  readonly #waiting = new Map<string, number>();
  /** By names of sets. */
  readonly #failures = new Map<string, Failure>();
  /** Of fences that were made here, by set and key: the generation of the set that does not have them yet. */
  readonly #made = new Map<string, number>();
  #loads = 0;
  /** Lists that were told. */
  #told = 0;

  /** Requests everything again: after a restart of the server its generations say nothing about what is here. */
  async load(): Promise<void> {
    try {
      this.#loads++;
      const told = this.#told;
      const asked = await fetchSets();
      // A list that was told meanwhile is newer.
      await this.apply(told === this.#told ? asked : this.infos.value, true);
    } catch (error) {
      this.#failed(list, `The sets could not be loaded: ${message(error)}`, error, () => this.load());
    }
  }

  /** Takes the server's list of sets; resolves when those that differ have been fetched. */
  async apply(infos: readonly SetInfo[], reload = false): Promise<void> {
    if (!reload) this.#told++;
    this.infos.set([...infos].sort((a, b) => (a.name < b.name ? -1 : 1)));
    this.listed.set(true);
    for (const { name } of this.infos.value) {
      if (!this.#colours.has(name)) this.#colours.set(name, this.#colours.size);
    }
    const names = new Set(infos.map(({ name }) => name));
    // A list that was told is none that was asked for: it says nothing about what is here.
    if (reload) this.#loaded(list);
    for (const name of this.#failures.keys()) if (name !== list && !names.has(name)) this.#loaded(name);
    if ([...this.sets.value.keys()].some((name) => !names.has(name))) {
      this.sets.update((sets) => new Map([...sets].filter(([name]) => names.has(name))));
    }
    const [large, small] = [infos.filter(isLarge), infos.filter((info) => !isLarge(info))];
    for (const info of large) this.#redraw(info);
    await Promise.all(small.map((info) => this.#fetch(info, reload)));
  }

  fence(set: string, key: string): FenceInfo | undefined {
    return this.sets.value.get(set)?.byKey.get(key);
  }

  /** As fence, and of a large set whose fence is not known yet at least what the key tells. */
  fenceName(set: string, key: string): FenceName | undefined {
    const known = this.fence(set, key);
    if (known || !(this.sets.value.get(set) instanceof LargeSet)) return known;
    return { set, key, label: key, feature: key };
  }

  /** Fetches a fence of a large set, unless it is known; `sets` tells when it is. */
  meet(set: string, key: string): void {
    const large = this.sets.value.get(set);
    if (!(large instanceof LargeSet) || large.byKey.has(key) || large.missing.has(key) || large.asked.has(key)) return;
    large.asked.add(key);
    void this.#meet(large, key).finally(() => large.asked.delete(key));
  }

  async #meet(set: LargeSet, key: string): Promise<void> {
    try {
      const feature = await fetchFence(set.info.name, key);
      if (feature) {
        const properties = feature.properties ?? null;
        const label = nameAlone(key, properties);
        set.meet({ set: set.info.name, key, feature: key, label, properties, bounds: boundsOf(feature.geometry) });
      } else {
        set.missing.add(key);
      }
      this.#loaded(set.info.name);
      this.sets.update((sets) => new Map(sets));
    } catch (error) {
      this.#failed(set.info.name, `The fence ${key} of ${set.info.name} could not be loaded: ${message(error)}`, error, () => {
        this.meet(set.info.name, key);
      });
    }
  }

  /** A fence has been stored, which what is loaded of its set may not have yet. */
  made(set: string, key: string): void {
    const loaded = this.sets.value.get(set);
    if (loaded) this.#made.set(`${set}/${key}`, loaded.info.generation);
  }

  /** Whether it is known that the set has no such fence. */
  lacks(set: string, key: string): boolean {
    const loaded = this.sets.value.get(set);
    if (loaded?.info.generation === this.#made.get(`${set}/${key}`)) return false;
    return loaded instanceof LargeSet ? loaded.missing.has(key) : loaded !== undefined && !loaded.byKey.has(key);
  }

  colour(set: string): number {
    return this.sets.value.get(set)?.colour ?? this.#colours.get(set) ?? 0;
  }

  /** A name for the fence that also works before it has been loaded; better with its properties, if they are at hand. */
  label(set: string, key: string, properties: Properties = null): string {
    return this.fence(set, key)?.label ?? nameAlone(key, this.sets.value.get(set) instanceof LargeSet ? properties : null);
  }

  #redraw(info: SetInfo): void {
    const { name, generation } = info;
    const version = `${generation}.${this.#loads}`;
    const present = this.sets.value.get(name);
    const next = new LargeSet(info, this.colour(name), version);
    if (present?.drawn === next.drawn || this.#waiting.has(name)) return;
    const wait = (this.#redrawn.get(name) ?? -Infinity) + redrawEveryMs - performance.now();
    if (wait > 0) {
      this.#waiting.set(name, window.setTimeout(() => {
        this.#waiting.delete(name);
        const last = this.infos.value.find((now) => now.name === name);
        if (last && isLarge(last)) this.#redraw(last);
      }, wait));
      return;
    }
    this.#loading.delete(name); // an answer on its way is out of date
    this.#redrawn.set(name, performance.now());
    this.#loaded(name);
    this.sets.update((sets) => new Map(sets).set(name, next));
  }

  async #fetch(info: SetInfo, reload: boolean): Promise<void> {
    const { name, generation } = info;
    const present = this.sets.value.get(name);
    if ((!reload && present?.info.generation === generation) || this.#loading.get(name) === generation) return;
    this.#loading.set(name, generation);
    try {
      const fetched = await fetchSet(name, present && typeof present.drawn !== "string" ? this.#tags.get(name) : "");
      if (this.#loading.get(name) !== generation) return; // a newer one is on its way
      if (!fetched) return this.#loaded(name); // nothing is new
      if (!this.infos.value.some((present) => present.name === name)) return; // removed meanwhile
      const built = buildSet(info, this.colour(name), fetched.doc);
      this.#tags.set(name, fetched.tag);
      this.sets.update((sets) => new Map(sets).set(name, built));
      this.#loaded(name);
    } catch (error) {
      if (this.#loading.get(name) !== generation) return; // as above
      if (!this.infos.value.some((present) => present.name === name)) return;
      this.#failed(name, `The set ${name} could not be loaded: ${message(error)}`, error, async () => {
        const last = this.infos.value.find((now) => now.name === name);
        if (last && !isLarge(last)) await this.#fetch(last, reload);
      });
    } finally {
      if (this.#loading.get(name) === generation) this.#loading.delete(name);
    }
  }

  /** Notes a failure to load what has a name, and loads it again later, unless the server says that this key may not see it. */
  #failed(name: string, text: string, error: unknown, again?: () => unknown): void {
    const before = this.#failures.get(name);
    clearTimeout(before?.again);
    const failure: Failure = { text, times: (before?.times ?? 0) + 1 };
    this.#failures.delete(name); // it becomes the last one
    this.#failures.set(name, failure);
    const refused = error instanceof ApiError && (error.status === 401 || error.status === 403);
    if (again && !refused) failure.again = window.setTimeout(() => void again(), backoffMs(failure.times - 1));
    this.error.set(text);
  }

  /** What has a name has been loaded, or is gone. */
  #loaded(name: string): void {
    clearTimeout(this.#failures.get(name)?.again);
    this.#failures.delete(name);
    this.error.set([...this.#failures.values()].at(-1)?.text ?? "");
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
