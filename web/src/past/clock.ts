// Clock: the time of the playback. It is told how much time has gone by for the viewer. Pure.

import type { PastView } from "./span";

/** A page that was hidden or frozen does not leap: no step is longer than this, in ms of the viewer. */
const longestStepMs = 250;

export class Clock {
  from = 0;
  to = 0;
  t = 0;
  speed = 1;
  playing = false;

  /** Takes another span, time and speed. It plays on only within the same span. */
  set({ from, to, t, speed }: PastView): void {
    if (from !== this.from || to !== this.to) this.playing = false;
    this.from = from;
    this.to = to;
    this.speed = speed;
    this.seek(t);
  }

  get view(): PastView {
    return { from: this.from, to: this.to, t: this.t, speed: this.speed };
  }

  seek(t: number): void {
    this.t = Math.min(this.to, Math.max(this.from, t));
  }

  /** From the end it starts again. */
  play(): void {
    if (this.t >= this.to) this.t = this.from;
    this.playing = true;
  }

  pause(): void {
    this.playing = false;
  }

  /** Goes on by some time of the viewer, and stops at the end. It reports whether the time has changed. */
  advance(ms: number): boolean {
    if (!this.playing || ms <= 0) return false;
    this.seek(this.t + Math.min(ms, longestStepMs) * this.speed);
    if (this.t >= this.to) this.playing = false;
    return true;
  }
}
