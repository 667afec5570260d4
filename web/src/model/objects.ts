// Objects: the objects of the last frame, by name. Handles are the server's short names for objects on one connection;
// a new connection hands out new ones, so everything that outlives it goes by fleet and id.

import type { Names } from "../api";
import { emptyFrame, State, type Frame } from "../live/frame";

export interface ObjectName {
  fleet: string;
  id: string;
}

interface KnownName extends ObjectName {
  /** objectKey of it, made once: it is needed for every object of every frame. */
  key: string;
}

export interface Located extends ObjectName {
  lon: number;
  lat: number;
  /** Degrees, NaN if unknown. */
  heading: number;
  /** m/s, NaN if unknown. */
  speed: number;
  state: number;
}

export interface StateCounts {
  moving: number;
  dwelling: number;
  silent: number;
  unknown: number;
}

/** Names that are kept beyond those in view, as the map is moved back and forth. */
const sparedNames = 2_000;

export class Objects {
  frame: Frame = emptyFrame();
  #names = new Map<number, KnownName>();
  #handles = new Map<string, number>();
  #slots = new Map<number, number>();

  /** A new connection: its handles mean something else. The last picture stays until the next frame. */
  reset(): void {
    this.#forget();
  }

  #forget(): void {
    const kept = new Map<number, KnownName>();
    for (const handle of this.frame.handles) {
      const name = this.#names.get(handle);
      if (name) kept.set(handle, name);
    }
    this.#names = kept;
    this.#handles = new Map([...kept].map(([handle, name]) => [name.key, handle]));
  }

  /** Returns the handles that stood for other objects before. */
  learn(message: Names): number[] {
    const others: number[] = [];
    for (const [handle, fleet, id] of message.names) {
      const key = objectKey(fleet, id);
      const before = this.#names.get(handle);
      if (before && before.key !== key) {
        others.push(handle);
        if (this.#handles.get(before.key) === handle) this.#handles.delete(before.key);
      }
      this.#names.set(handle, { fleet, id, key });
      this.#handles.set(key, handle);
    }
    return others;
  }

  /** Names of objects that are not in the frame may go: the server tells them again when they come back. */
  show(frame: Frame): void {
    this.frame = frame;
    if (this.#names.size > frame.count * 2 + sparedNames) this.#forget();
    this.#slots = new Map();
    for (let i = 0; i < frame.count; i++) this.#slots.set(frame.handles[i]!, i);
  }

  name(handle: number): KnownName | undefined {
    return this.#names.get(handle);
  }

  handle(fleet: string, id: string): number | undefined {
    return this.#handles.get(objectKey(fleet, id));
  }

  /** The object at a place in the frame. */
  at(slot: number): Located | undefined {
    const { handles, lon, lat, heading, speed, state, count } = this.frame;
    if (slot < 0 || slot >= count) return undefined;
    const name = this.#names.get(handles[slot]!);
    if (!name) return undefined;
    return {
      fleet: name.fleet,
      id: name.id,
      lon: lon[slot]!,
      lat: lat[slot]!,
      heading: heading[slot]!,
      speed: speed[slot]!,
      state: state[slot]!,
    };
  }

  /** The object's place on the map, if it is in view. */
  find(fleet: string, id: string): Located | undefined {
    const handle = this.handle(fleet, id);
    if (handle === undefined) return undefined;
    const found = this.at(this.#slots.get(handle) ?? -1);
    return found?.id === id && found.fleet === fleet ? found : undefined;
  }

  /** The fleet of the object at a place in the frame, "" if it is not known. */
  fleetAt(slot: number): string {
    return this.#names.get(this.frame.handles[slot]!)?.fleet ?? "";
  }

  /** Names of objects in view whose id holds the text, at most limit. */
  search(text: string, limit: number): ObjectName[] {
    const wanted = text.toLowerCase();
    const found: ObjectName[] = [];
    for (let i = 0; i < this.frame.count && found.length < limit; i++) {
      const name = this.#names.get(this.frame.handles[i]!);
      if (name?.id.toLowerCase().includes(wanted)) found.push(name);
    }
    return found;
  }

  /** Null of a crowd, of which only the silent ones are counted. */
  counts(): StateCounts | null {
    if (this.frame.cells) return null;
    const counts: StateCounts = { moving: 0, dwelling: 0, silent: 0, unknown: 0 };
    for (let i = 0; i < this.frame.count; i++) {
      const state = this.frame.state[i];
      if (state === State.Silent) counts.silent++;
      else if (state === State.Dwelling) counts.dwelling++;
      else if (state === State.Unknown) counts.unknown++;
      else counts.moving++;
    }
    return counts;
  }
}

/** Equal for the same object only: a fleet's name holds no line break after encoding. */
export function objectKey(fleet: string, id: string): string {
  return `${encodeURIComponent(fleet)}\n${id}`;
}

export function stateName(state: number): string {
  if (state === State.Silent) return "silent";
  if (state === State.Unknown) return "unknown whether it moves";
  return state === State.Dwelling ? "dwelling" : "moving";
}
