// History: the past and the future of a value, for undo and redo.

/** Steps that are kept, and what they weigh together; the oldest goes first. */
const mostSteps = 200;
const mostWeight = 2_000_000;

export class History<T> {
  readonly #weigh: (value: T) => number;
  #past: T[] = [];
  #future: T[] = [];
  #present: T;
  #run = "";

  /** weigh gives the memory of a value in a unit of the caller's choice, such as vertices. */
  constructor(present: T, weigh: (value: T) => number = () => 0) {
    this.#weigh = weigh;
    this.#present = present;
  }

  get present(): T {
    return this.#present;
  }

  get canUndo(): boolean {
    return this.#past.length > 0;
  }

  get canRedo(): boolean {
    return this.#future.length > 0;
  }

  /** Goes on to another value. Steps of one run that follow each other, such as those of a drag, are undone as one. */
  push(value: T, run = ""): void {
    if (Object.is(value, this.#present)) return;
    const goesOn = run !== "" && run === this.#run;
    this.#run = run;
    this.#future = [];
    if (!goesOn) this.#past.push(this.#present);
    this.#present = value;
    this.#forget();
  }

  #forget(): void {
    let weight = 0;
    let kept = 0;
    while (kept < Math.min(mostSteps, this.#past.length)) {
      weight += this.#weigh(this.#past.at(-1 - kept)!);
      if (weight > mostWeight) break;
      kept++;
    }
    this.#past.splice(0, this.#past.length - kept);
  }

  /** Ends a run: the next step is one of its own. */
  rest(): void {
    this.#run = "";
  }

  undo(): T {
    return this.#step(this.#past, this.#future);
  }

  redo(): T {
    return this.#step(this.#future, this.#past);
  }

  #step(from: T[], to: T[]): T {
    const value = from.pop();
    this.#run = "";
    if (value !== undefined) {
      to.push(this.#present);
      this.#present = value;
    }
    return this.#present;
  }
}
