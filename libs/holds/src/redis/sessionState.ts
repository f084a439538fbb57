/** A session of this owner, and the mark of the Redis that its pending calls stand in under it. */
export interface Session {
  readonly mark: string;
  readonly token: string;
}

/**
 * This owner's state at Redis. `session`: its pending calls are put back, so calls may be settled and sums absorbed.
 * `isOpen`: the calls of all owners are, so calls may be admitted. `followRedis` alone grants either. Any caller that
 * has a reason for doubt revokes it.
 */
export class SessionState {
  #session: Session | undefined;
  #leaseEndsAt = Number.NEGATIVE_INFINITY;
  #isOpen = false;
  #onDoubt: (() => void) | undefined;
  /** Counts put-backs of some calls. An answer of the ledger from before one is out of date. */
  putBacks = 0;
  /** The last reason for refusing calls while this is not open, for logs. */
  closedReason = 'it has not been looked at yet';
  /** Share of its maxmemory that this Redis used when it was asked last; above 1 it admits nothing. 0 without a limit. */
  memoryShare = 0;

  /** Undefined once its lease has ended by this process' clock, which is before anybody else could say so. */
  get session(): Session | undefined {
    return performance.now() < this.#leaseEndsAt ? this.#session : undefined;
  }

  get isOpen(): boolean {
    return this.#isOpen && this.session !== undefined;
  }

  /** Some calls are about to be put back under the session that lives, or have just been. */
  notePutBack(): void {
    this.putBacks += 1;
  }

  /** From now on `onDoubt` is called whenever there is reason to look at once. */
  watch(onDoubt: () => void): void {
    this.#onDoubt = onDoubt;
  }

  begin(session: Session, leaseEndsAt: number): void {
    this.#session = session;
    this.#leaseEndsAt = leaseEndsAt;
  }

  renew(leaseEndsAt: number): void {
    this.#leaseEndsAt = leaseEndsAt;
  }

  open(): void {
    this.#isOpen = true;
  }

  close(): void {
    this.#isOpen = false;
  }

  /** The session has lapsed, or cannot be trusted: calls have to be put back under another one. */
  end(): void {
    this.#isOpen = false;
    this.#session = undefined;
  }

  /** Something answered what the Redis of this mark cannot answer: nothing is admitted until it has been looked at. */
  suspect(): void {
    this.close();
    this.#onDoubt?.();
  }

  /** A call that must be pending is not: all are put back. */
  reportMissingCall(): void {
    this.end();
    this.#onDoubt?.();
  }
}

/** Finds this owner's state at the Redis of a workspace's shard. Undefined while no server has the shard. */
export interface StateByWorkspace<Part extends keyof SessionState> {
  of(workspaceId: string): { readonly sessionState: Pick<SessionState, Part> } | undefined;
}
