// Signal: one observable value. The page's state is a handful of these, and every part of it draws itself from them.

export class Signal<T> {
  #value: T;
  readonly #watchers = new Set<(value: T, before: T) => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  /** Stores the value and tells the watchers, unless it is the one already there. */
  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    const before = this.#value;
    this.#value = value;
    for (const watcher of [...this.#watchers]) watcher(value, before);
  }

  update(change: (value: T) => T): void {
    this.set(change(this.#value));
  }

  /** Calls the watcher on each change; the returned function ends that. */
  watch(watcher: (value: T, before: T) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Like watch, and once right away. */
  bind(watcher: (value: T, before: T) => void): () => void {
    watcher(this.#value, this.#value);
    return this.watch(watcher);
  }
}
