// Buffer: the chunks around the playback's time, and which one to ask for next. Pure.
//
// It holds at most 4 chunks of the present level, and until those are there as many of another level or another scope, so
// that the picture does not go out. That is its bound: 8 chunks of 400,000 positions of 32 bytes, mostly far fewer.

import type { Bounds } from "../api";
import { Chunk, chunkAt, levelOf, type Level, type Scope } from "./chunk";

/** Chunks behind the time, and ahead of it. */
const behind = 1;
const ahead = 2;

export class Buffer {
  #chunks: Chunk[] = [];
  /** Shown until there are better ones. */
  #spares: Chunk[] = [];
  #scope: Scope = { box: null, fleet: "" };
  #level: Level = levelOf(1);

  get scope(): Scope {
    return this.#scope;
  }

  clear(): void {
    this.#chunks = [];
    this.#spares = [];
  }

  /** Another part of the map, or another fleet: what is held is old. */
  setScope(scope: Scope): void {
    this.#retire();
    this.#scope = scope;
  }

  setSpeed(speed: number): void {
    const level = levelOf(speed);
    if (level.length === this.#level.length) return;
    this.#retire();
    this.#level = level;
  }

  /** The next chunk to ask for at a time, within a span; null if all are there. */
  wanted(t: number, from: number, to: number): Chunk | null {
    const now = chunkAt(t, this.#level);
    for (const index of [now, ...Array.from({ length: ahead }, (_, i) => now + 1 + i)]) {
      const chunk = new Chunk(this.#level, index, this.#scope);
      if (chunk.to <= from || chunk.from > to) continue;
      if (!this.#chunks.some((held) => held.index === index)) return chunk;
    }
    return null;
  }

  /** Takes a chunk that has been filled, unless it is of no use any more. */
  put(chunk: Chunk, t: number): void {
    if (chunk.scope !== this.#scope || chunk.level.length !== this.#level.length) return;
    const now = chunkAt(t, this.#level);
    this.#chunks = [...this.#chunks, chunk].filter(({ index }) => index >= now - behind && index <= now + ahead);
    if (this.#chunks.some((held) => held.covers(t))) this.#spares = [];
  }

  /** The chunk to show at a time, and the one behind it. */
  at(t: number): { chunk: Chunk | null; next: Chunk | null; exact: boolean } {
    const chunk = this.#chunks.find((held) => held.covers(t));
    if (!chunk) return { chunk: this.#spares.find((held) => held.covers(t)) ?? null, next: null, exact: false };
    return { chunk, next: this.#chunks.find(({ index }) => index === chunk.index + 1) ?? null, exact: true };
  }

  get positions(): number {
    return [...this.#chunks, ...this.#spares].reduce((sum, { positions }) => sum + positions, 0);
  }

  #retire(): void {
    if (this.#chunks.length > 0) this.#spares = this.#chunks;
    this.#chunks = [];
  }
}

/** Whether a scope still serves for a part of the map: it holds it, and is not much larger. */
export function serves(scope: Scope, bounds: Bounds, partial: boolean): boolean {
  if (!scope.box) return !partial;
  const [w, s, e, n] = scope.box;
  const inside = bounds[0] >= w && bounds[1] >= s && bounds[2] <= e && bounds[3] <= n;
  // From closer by fewer objects are left out.
  return inside && !(partial && (e - w) * (n - s) > 4 * (bounds[2] - bounds[0]) * (bounds[3] - bounds[1]));
}

/** The box to ask for: the part of the map and a margin around it, so that it can be moved a little. */
export function boxAround([w, s, e, n]: Bounds): Bounds | null {
  const dx = (e - w) * 0.25;
  const dy = (n - s) * 0.25;
  const box: Bounds = [Math.max(-180, w - dx), Math.max(-90, s - dy), Math.min(180, e + dx), Math.min(90, n + dy)];
  return box[2] - box[0] >= 360 && box[3] - box[1] >= 170 ? null : box;
}
