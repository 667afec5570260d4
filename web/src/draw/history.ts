// History: the past and the future of a value, for undo and redo.

/** Steps that are kept; the oldest goes first. */
const mostSteps = 200;

export class History<T> {
  #past: T[] = [];
  #future: T[] = [];
  #present: T;
  #run = "";

  constructor(present: T) {
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
    if (this.#past.length > mostSteps) this.#past.shift();
    this.#present = value;
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
