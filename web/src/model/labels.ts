// Labels: which texts are written on the map. No two of them overlap, and there is a bound for each kind.

export interface Candidate {
  /** The same for the same thing from one placement to the next. */
  key: string;
  text: string;
  /** The point that the label is at, in CSS pixels, and the size of its text. */
  x: number;
  y: number;
  width: number;
  height: number;
  /** Pixels between the point and the text, which is beside it; null: the text is on the point. */
  beside: number | null;
}

export interface Label extends Candidate {
  /** From the point to the text's left edge and its middle line. */
  dx: number;
  dy: number;
}

type Box = readonly [left: number, top: number, right: number, bottom: number];

/** Pixels between two labels. */
const gap = 3;

/** The screen while labels are placed on it. */
export class Placement {
  readonly #taken: Box[] = [];
  readonly #width: number;
  readonly #height: number;

  constructor(width: number, height: number) {
    this.#width = width;
    this.#height = height;
  }

  /** Keeps labels away from a place. */
  take(x: number, y: number, radius: number): void {
    this.#taken.push([x - radius, y - radius, x + radius, y + radius]);
  }

  /** Places candidates in their order, those that had a label before first, so that labels do not come and go. */
  place(candidates: readonly Candidate[], most: number, before: ReadonlySet<string>): Label[] {
    const placed: Label[] = [];
    const [kept, fresh] = [candidates.filter(({ key }) => before.has(key)), candidates.filter(({ key }) => !before.has(key))];
    for (const candidate of [...kept, ...fresh]) {
      if (placed.length >= most) break;
      const label = this.#fit(candidate);
      if (label) placed.push(label);
    }
    return placed;
  }

  #fit(candidate: Candidate): Label | null {
    const { x, y, width, height, beside } = candidate;
    const spots: [dx: number, dy: number][] =
      beside === null
        ? [[-width / 2, 0]]
        : [
            [beside, 0],
            [-beside - width, 0],
            [-width / 2, -beside - height / 2],
            [-width / 2, beside + height / 2],
          ];
    for (const [dx, dy] of spots) {
      const box: Box = [x + dx - gap, y + dy - height / 2 - gap, x + dx + width + gap, y + dy + height / 2 + gap];
      if (!this.#isFree(box)) continue;
      this.#taken.push(box);
      return { ...candidate, dx, dy };
    }
    return null;
  }

  #isFree([left, top, right, bottom]: Box): boolean {
    if (left < 0 || top < 0 || right > this.#width || bottom > this.#height) return false;
    return this.#taken.every(([l, t, r, b]) => right <= l || left >= r || bottom <= t || top >= b);
  }
}
