// Trails: where each object in view was during the last minute, so that its trail is there the moment it is selected.
//
// One ring of 64 points for each object, in three flat arrays; a point a second at most. An object that has not been
// seen for a minute gives its ring back.

const pointsPerTrail = 64;
const keepMs = 60_000;
/** Closer than this to the last point: the same point. */
const everyMs = 900;
/** Bounds the memory at 64 * 20 B * 20,000 = 26 MB; objects past it have no trail until others leave. */
const maxTrails = 20_000;

export interface TrailPoint {
  lon: number;
  lat: number;
  /** Unix ms. */
  t: number;
}

interface Ring {
  next: number;
  size: number;
  lon: Float64Array;
  lat: Float64Array;
  t: Float64Array;
}

export class Trails {
  readonly #rings = new Map<string, Ring>();
  /** The one trail that is longer. */
  #long: { key: string; keepMs: number; points: TrailPoint[] } | null = null;
  #swept = 0;

  add(key: string, lon: number, lat: number, t: number): void {
    let ring = this.#rings.get(key);
    if (!ring) {
      if (this.#rings.size >= maxTrails) return;
      ring = {
        next: 0,
        size: 0,
        lon: new Float64Array(pointsPerTrail),
        lat: new Float64Array(pointsPerTrail),
        t: new Float64Array(pointsPerTrail),
      };
      this.#rings.set(key, ring);
    }
    const last = (ring.next + pointsPerTrail - 1) % pointsPerTrail;
    if (ring.size > 0 && t - ring.t[last]! < everyMs) return;
    ring.lon[ring.next] = lon;
    ring.lat[ring.next] = lat;
    ring.t[ring.next] = t;
    ring.next = (ring.next + 1) % pointsPerTrail;
    ring.size = Math.min(ring.size + 1, pointsPerTrail);
  }

  /** Keeps an object's points for longer than a minute, from earlier ones on; those of one object only. */
  lengthen(key: string, points: TrailPoint[], keepMs: number): void {
    this.#long = { key, keepMs, points };
  }

  /** The points of the minute before now, or of a longer time, oldest first. */
  get(key: string, now: number): TrailPoint[] {
    const points = this.#ofMinute(key, now);
    const long = this.#long;
    if (long?.key !== key) return points;
    const last = long.points.at(-1)?.t ?? -Infinity;
    const added = points.filter(({ t }) => t > last + everyMs);
    // Each frame adds a point at most, so that this is rarely more than a look.
    if (added.length > 0) long.points.push(...added);
    const kept = long.points.findIndex(({ t }) => now - t <= long.keepMs);
    if (kept !== 0) long.points.splice(0, kept < 0 ? long.points.length : kept);
    return [...long.points];
  }

  #ofMinute(key: string, now: number): TrailPoint[] {
    const ring = this.#rings.get(key);
    if (!ring) return [];
    const points: TrailPoint[] = [];
    for (let i = 0; i < ring.size; i++) {
      const at = (ring.next + pointsPerTrail - ring.size + i) % pointsPerTrail;
      const t = ring.t[at]!;
      if (now - t <= keepMs) points.push({ lon: ring.lon[at]!, lat: ring.lat[at]!, t });
    }
    return points;
  }

  /** Forgets objects not seen for a minute; does its work once in ten seconds. */
  sweep(now: number): void {
    if (now - this.#swept < 10_000) return;
    this.#swept = now;
    for (const [key, ring] of this.#rings) {
      const last = (ring.next + pointsPerTrail - 1) % pointsPerTrail;
      if (now - ring.t[last]! > keepMs) this.#rings.delete(key);
    }
  }
}
