/** Something that happens at an instant of simulated time. */
export interface QueuedEvent {
  /** Milliseconds since the world began. */
  at: number;
  /** Order of two events of one instant: as they were queued. */
  order: number;
  isCancelled: boolean;
  run: () => void;
}

const isBefore = (one: QueuedEvent, other: QueuedEvent): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

/** A binary heap: the earliest event first. */
export class EventQueue {
  readonly #heap: QueuedEvent[] = [];

  push(event: QueuedEvent): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex];
      if (!parent || !isBefore(event, parent)) break;
      heap[index] = parent;
      index = parentIndex;
    }
    heap[index] = event;
  }

  pop(): QueuedEvent | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (!first || !last || first === last) return first;
    let index = 0;
    for (;;) {
      let childIndex = 2 * index + 1;
      let child = heap[childIndex];
      if (!child) break;
      const right = heap[childIndex + 1];
      if (right && isBefore(right, child)) {
        childIndex += 1;
        child = right;
      }
      if (!isBefore(child, last)) break;
      heap[index] = child;
      index = childIndex;
    }
    heap[index] = last;
    return first;
  }
}
