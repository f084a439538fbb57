/** Each has four below it: fewer levels than with two. */
const WAYS = 4;
const BITS = 2;

/** What is to happen, the earliest first; of the same instant in an order of its own, which is the same each time. A heap. */
export class EventQueue<T> {
  readonly #at: number[] = [];
  readonly #events: T[] = [];

  add(at: number, event: T): void {
    const [instants, events] = [this.#at, this.#events];
    let hole = instants.length;
    instants.push(at);
    events.push(event);
    while (hole > 0) {
      const parent = (hole - 1) >> BITS;
      if ((instants[parent] as number) <= at) break;
      instants[hole] = instants[parent] as number;
      events[hole] = events[parent] as T;
      hole = parent;
    }
    instants[hole] = at;
    events[hole] = event;
  }

  /** Hands the next one over, with its instant; says whether there was one before `until`. */
  takeBefore(until: number, handle: (at: number, event: T) => void): boolean {
    const [at, event] = [this.#at[0], this.#events[0]];
    if (at === undefined || at >= until) return false;
    const [lastAt, last] = [this.#at.pop() as number, this.#events.pop() as T];
    if (this.#at.length > 0) this.#sink(lastAt, last);
    handle(at, event as T);
    return true;
  }

  /** Puts the last one into the place of the first, and others above it. */
  #sink(at: number, event: T): void {
    const [instants, events] = [this.#at, this.#events];
    const { length } = instants;
    let hole = 0;
    for (;;) {
      const first = hole * WAYS + 1;
      if (first >= length) break;
      let least = first;
      for (let child = first + 1; child < first + WAYS && child < length; child += 1)
        if ((instants[child] as number) < (instants[least] as number)) least = child;
      if ((instants[least] as number) >= at) break;
      instants[hole] = instants[least] as number;
      events[hole] = events[least] as T;
      hole = least;
    }
    instants[hole] = at;
    events[hole] = event;
  }
}
