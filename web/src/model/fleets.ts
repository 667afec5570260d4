// Fleets: the names of fleets that the page has met, in the order in which it met them, each with a colour of the palette.

import type { FenceEvent, Names } from "../api";
import { Signal } from "../signal";
import { setColours } from "./sets";

/** Further fleets are not listed, and have the first colour; the filter takes their names from the address. */
const mostFleets = 200;

export class Fleets {
  /** Sorted by name. */
  readonly names = new Signal<readonly string[]>([]);
  readonly #colours = new Map<string, number>();

  learnNames({ names }: Names): void {
    this.#learn(new Set(names.map(([, fleet]) => fleet)));
  }

  learnEvents(events: readonly FenceEvent[]): void {
    this.#learn(new Set(events.flatMap(({ data: { object } }) => (object ? [object.fleet] : []))));
  }

  colour(fleet: string): number {
    return this.#colours.get(fleet) ?? 0;
  }

  #learn(fleets: ReadonlySet<string>): void {
    const fresh = [...fleets].filter((fleet) => !this.#colours.has(fleet)).sort();
    for (const fleet of fresh) {
      if (this.#colours.size >= mostFleets) break;
      this.#colours.set(fleet, this.#colours.size % setColours);
    }
    if (fresh.length > 0 && this.#colours.size > this.names.value.length) this.names.set([...this.#colours.keys()].sort());
  }
}
