/** An epoch of the balances: its number, and the replication id of the Redis they are kept in. */
export interface EpochStamp {
  number: number;
  redisId: string;
}

const NONE: EpochStamp = { number: 0, redisId: '' };

/**
 * The epoch this router counts in, and what it may do. Closed from the start, whenever the connection to Redis breaks, and
 * when anything says that it is not the Redis of the epoch any more; `followEpoch` alone opens it. Closed, no call is
 * admitted or settled and no event sent; draining, events are sent.
 */
export class RedisEpoch {
  #stamp = NONE;
  #isDraining = false;
  #openedAt: number | undefined;
  #missesCalls = false;
  #onDoubt: (() => void) | undefined;

  get stamp(): EpochStamp {
    return this.#stamp;
  }

  get isOpen(): boolean {
    return this.#openedAt !== undefined;
  }

  /** Whether completion events may go to the event log. */
  get maySend(): boolean {
    return this.isOpen || this.#isDraining;
  }

  /** How long this router has counted without a break; 0 while it does not. */
  get openForMs(): number {
    return this.#openedAt === undefined ? 0 : performance.now() - this.#openedAt;
  }

  /** Whether Redis was asked for a call that must have its hold in this epoch, and had none. */
  get missesCalls(): boolean {
    return this.#missesCalls;
  }

  /** From now on `onDoubt` is called whenever there is reason to look at once. */
  watch(onDoubt: () => void): void {
    this.#onDoubt = onDoubt;
  }

  open(stamp: EpochStamp): void {
    if (stamp.number !== this.#stamp.number) this.#missesCalls = false;
    this.#stamp = stamp;
    this.#isDraining = false;
    this.#openedAt ??= performance.now();
  }

  drain(): void {
    this.#openedAt = undefined;
    this.#isDraining = true;
  }

  close(): void {
    this.#openedAt = undefined;
    this.#isDraining = false;
  }

  /** Something answered what the Redis of this epoch cannot answer: nothing is admitted until it has been looked at. */
  suspect(): void {
    this.close();
    this.#onDoubt?.();
  }

  /** A call that must be held is not: Redis was emptied, or others have gone on without this router. */
  reportMissingCall(): void {
    this.#missesCalls = true;
    this.suspect();
  }
}
