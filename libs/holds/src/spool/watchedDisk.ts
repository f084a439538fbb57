/** How long one operation may take before its disk counts as hung. */
const HUNG_AFTER_MS = 1_000;
/** The rest of that time is measured anew, so that a process that was frozen sees first what ended meanwhile. */
const LOOK_AGAIN_MS = 100;

export interface HangEvents {
  onHang(): void;
  onRecovery(): void;
}

/**
 * Runs the operations of a spool on its disk and watches how long each takes. An operation cannot be aborted, so it is waited for, however
 * long. At most two are under way, because each that hangs keeps one of the four threads of libuv: one write, and one beside the writes.
 */
export class WatchedDisk {
  /** Whether an operation has been under way for longer than a second. */
  isHung = false;
  readonly #events: HangEvents;
  #overdue = 0;
  #beside: Promise<unknown> = Promise.resolve();

  constructor(events: HangEvents) {
    this.#events = events;
  }

  /** Runs an operation that its caller waits for before the next one. */
  async run<T>(operation: () => Promise<T>): Promise<T> {
    let isOverdue = false;
    const overdue = (): void => {
      isOverdue = true;
      this.#overdue += 1;
      this.isHung = true;
      if (this.#overdue === 1) this.#events.onHang();
    };
    let timer = setTimeout(() => {
      timer = setTimeout(overdue, LOOK_AGAIN_MS);
    }, HUNG_AFTER_MS - LOOK_AGAIN_MS);
    try {
      return await operation();
    } finally {
      clearTimeout(timer);
      if (isOverdue) {
        this.#overdue -= 1;
        this.isHung = this.#overdue > 0;
        if (!this.isHung) this.#events.onRecovery();
      }
    }
  }

  /** Runs an operation beside the writes, once those that came before it have ended. */
  beside<T>(operation: () => Promise<T>): Promise<T> {
    const ended = this.#beside.then(() => this.run(operation));
    this.#beside = ended.catch(() => undefined);
    return ended;
  }
}
