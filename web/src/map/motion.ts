// Motion: where each object is drawn between two frames. A position that changed glides to its new place in the time
// since the change before it; the graphics card does the gliding, this keeps where from, where to, and when.
//
// Coordinates are Mercator relative to an origin in the view, so that 32-bit floats are exact to millimetres.

import type { Frame } from "../live/frame";
import { mercatorX, mercatorY } from "./mercator";

/** Floats for each object in the buffer: from x, y · to x, y · start, duration (s) · heading (rad) · state · tint. */
export const floatsPerObject = 9;

/** The colour of the palette for an object at a place in the frame; below 0 it has that of its state. */
export type Tint = (slot: number) => number;

const shortestGlideS = 0.2;
const longestGlideS = 1.2;
/** Farther than this in one step (in units of the world's width; about 2 km): it jumps. */
const longestGlide = 5e-5;

interface Track {
  fromX: number;
  fromY: number;
  toX: number;
  toY: number;
  start: number;
  duration: number;
  changed: number;
  frame: number;
}

export class Motion {
  /** floatsPerObject values for each of count objects, in the order of the last frame. */
  buffer = new Float32Array(0);
  count = 0;
  originX = 0;
  originY = 0;
  /** Seconds of performance.now() that starts are relative to: a float would lose milliseconds within a day. */
  epoch = 0;
  /** Seconds of performance.now() after which nothing moves any more. */
  settled = 0;
  #tracks = new Map<number, Track>();
  #order: Track[] = [];
  #frame = 0;

  /** Takes a frame at a time in seconds. Without glide every object is at once where the frame has it. */
  show(frame: Frame, now: number, glide: boolean, tint: Tint = () => -1): void {
    this.#frame++;
    this.count = frame.count;
    this.epoch = now;
    if (this.buffer.length < frame.count * floatsPerObject) {
      this.buffer = new Float32Array(Math.ceil(frame.count * 1.5) * floatsPerObject);
    }
    this.#order = [];
    for (let i = 0; i < frame.count; i++) {
      const x = mercatorX(frame.lon[i]!);
      const y = mercatorY(frame.lat[i]!);
      if (i === 0) [this.originX, this.originY] = [x, y];
      this.#write(i, this.#follow(frame.handles[i]!, x, y, now, glide), frame.heading[i]!, frame.state[i]!, tint(i));
    }
    if (this.#tracks.size > frame.count * 2 + 1000) this.#sweep();
  }

  /** A new connection: handles mean something else. */
  reset(): void {
    this.#tracks.clear();
  }

  /** These handles stand for other objects from now on. */
  forget(handles: readonly number[]): void {
    for (const handle of handles) this.#tracks.delete(handle);
  }

  /** The drawn place of the i-th object of the last frame, in Mercator. */
  at(i: number, now: number): [x: number, y: number] {
    return placeOf(this.#order[i]!, now);
  }

  #follow(handle: number, x: number, y: number, now: number, glide: boolean): Track {
    let track = this.#tracks.get(handle);
    if (!track) {
      track = { fromX: x, fromY: y, toX: x, toY: y, start: now, duration: 0, changed: now, frame: this.#frame };
      this.#tracks.set(handle, track);
    } else if (track.toX !== x || track.toY !== y) {
      const far = Math.abs(track.toX - x) + Math.abs(track.toY - y) > longestGlide;
      // An object that was out of view for a while has no path to show.
      const glides = glide && !far && track.frame === this.#frame - 1;
      [track.fromX, track.fromY] = glides ? placeOf(track, now) : [x, y];
      track.toX = x;
      track.toY = y;
      track.start = now;
      track.duration = glides ? Math.min(longestGlideS, Math.max(shortestGlideS, now - track.changed)) : 0;
      track.changed = now;
      this.settled = Math.max(this.settled, now + track.duration);
    }
    track.frame = this.#frame;
    this.#order.push(track);
    return track;
  }

  #write(i: number, track: Track, heading: number, state: number, tint: number): void {
    const at = i * floatsPerObject;
    const { buffer, originX, originY } = this;
    buffer[at] = track.fromX - originX;
    buffer[at + 1] = track.fromY - originY;
    buffer[at + 2] = track.toX - originX;
    buffer[at + 3] = track.toY - originY;
    buffer[at + 4] = track.start - this.epoch;
    buffer[at + 5] = track.duration;
    buffer[at + 6] = Number.isNaN(heading) ? -1 : (heading * Math.PI) / 180;
    buffer[at + 7] = state;
    buffer[at + 8] = tint;
  }

  #sweep(): void {
    for (const [handle, track] of this.#tracks) {
      if (track.frame !== this.#frame) this.#tracks.delete(handle);
    }
  }
}

function placeOf(track: Track, now: number): [x: number, y: number] {
  const share = track.duration === 0 ? 1 : Math.min(1, Math.max(0, (now - track.start) / track.duration));
  return [track.fromX + (track.toX - track.fromX) * share, track.fromY + (track.toY - track.fromY) * share];
}
