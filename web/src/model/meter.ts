// Meter: the growth of counters in a second, over the last few readings. Pure.

/** Rates are over this long, so that they do not jump with each reading. */
const spanMs = 5_000;

interface Reading {
  t: number;
  counts: ReadonlyMap<string, number>;
}

export class Meter {
  #readings: Reading[] = [];

  /** Takes a reading in, at a time of the server. One older than the last is of another run: everything starts over. */
  add(t: number, counts: ReadonlyMap<string, number>): void {
    const last = this.#readings.at(-1);
    if (t === last?.t) return;
    if (last && t < last.t) this.#readings = [];
    this.#readings.push({ t, counts });
    while (this.#readings.length > 2 && this.#readings[1]!.t <= t - spanMs) this.#readings.shift();
  }

  /** A second's growth of a counter; NaN until it has been there for two readings, and when it was set back. */
  of(name: string): number {
    const last = this.#readings.at(-1);
    const value = last?.counts.get(name);
    if (last === undefined || value === undefined) return NaN;
    const first = this.#readings.find(({ counts }) => counts.has(name))!;
    const grown = value - first.counts.get(name)!;
    return first === last || grown < 0 ? NaN : (grown * 1000) / (last.t - first.t);
  }

  /** Like of, and 0 for what is unknown: a plot has no place for that. */
  orZero(name: string): number {
    const rate = this.of(name);
    return Number.isNaN(rate) ? 0 : rate;
  }
}
