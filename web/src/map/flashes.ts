// Flashes: a fence lights up once when something enters or leaves it, and fades within about a second.
//
// A fade is a few steps of feature-state, all fences of a step together, because each step draws the map again. A viewer
// who asks for less motion sees none.

import type { FenceName } from "../model/sets";

export interface FlashTarget {
  set: string;
  feature: FenceName["feature"];
  /** Whether its fill lights up too. A fence that covers much of the screen must not make it blink: its border will do. */
  fills: boolean;
}

/** Whether the viewer asks for less motion. */
export const calm = matchMedia("(prefers-reduced-motion: reduce)");

type Paint = (target: FlashTarget, kind: string, level: number) => void;

interface Flash extends FlashTarget {
  kind: string;
  step: number;
}

const levels = [1, 0.7, 0.45, 0.25, 0.1];
const stepMs = 220;
/** Past this many at once no more are lit: they would say nothing. */
const maxFlashes = 60;

export class Flashes {
  readonly #flashes = new Map<string, Flash>();
  readonly #paint: Paint;
  #timer: number | undefined;

  /** paint is told each change: level goes from 1 down to 0, and 0 means as if nothing had been. */
  constructor(paint: Paint) {
    this.#paint = paint;
  }

  add(target: FlashTarget, kind: string): void {
    if (calm.matches) return;
    const key = `${target.feature} ${target.set}`;
    if (!this.#flashes.has(key) && this.#flashes.size >= maxFlashes) return;
    this.#flashes.set(key, { ...target, kind, step: 0 });
    this.#timer ??= window.setTimeout(() => this.#step(), 0);
  }

  /** The set's fences are no longer those on the map. */
  drop(set: string): void {
    for (const [key, flash] of this.#flashes) if (flash.set === set) this.#flashes.delete(key);
  }

  #step(): void {
    for (const [key, flash] of this.#flashes) {
      const level = levels[flash.step++] ?? 0;
      this.#paint(flash, flash.kind, level);
      if (level === 0) this.#flashes.delete(key);
    }
    this.#timer = this.#flashes.size > 0 ? window.setTimeout(() => this.#step(), stepMs) : undefined;
  }
}
