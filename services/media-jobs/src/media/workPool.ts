import type { SlotOwner } from '@turnpike/request-reading/shares/fairSlots';
import { MediaFault } from './mediaFault.ts';

/**
 * Work with an owner is a client's. Work without one is on a backend's output: it goes first and waits without a limit.
 */
export interface WorkOptions {
  owner?: SlotOwner | undefined;
  /** Client's work that waits without a limit, for a job. */
  isPatient?: boolean | undefined;
  signal: AbortSignal;
}

/** Runs a bounded amount of work at a time. Other work waits for its turn. */
export interface WorkPool {
  /**
   * Runs `work` at its turn. Impatient client's work is refused as `overloaded` if its key has too much waiting, or
   * after `maxWaitMs`. Rejects with the signal's reason if that fires before the turn.
   */
  run<Result>(work: () => Promise<Result>, options: WorkOptions): Promise<Result>;
  /** Current load. */
  readonly load: { running: number; waiting: number };
}

export interface WorkPoolOptions {
  slots: number;
  /** Most waiting work of one key. */
  maxWaiting: number;
  maxWaitMs: number;
}

interface Waiting {
  owner: SlotOwner | undefined;
  begin(): void;
}

/**
 * Turns go first to backends' outputs, then to the workspace with the least running work, then to its key with the
 * least. Among equals the key with the oldest turn is next. A key with running work leaves the last slot to other keys,
 * so that one key never has all slots.
 */
export function createWorkPool({ slots, maxWaiting, maxWaitMs }: WorkPoolOptions): WorkPool {
  const running: (SlotOwner | undefined)[] = [];
  /**
   * Waiting work by key, each in the order of arrival. Work without an owner is under undefined. The key served last is
   * the last one.
   */
  const lines = new Map<string | undefined, Waiting[]>();

  const countOf = (name: keyof SlotOwner, owner: SlotOwner): number =>
    running.filter((other) => other?.[name] === owner[name]).length;

  function mayBegin(owner: SlotOwner | undefined): boolean {
    const free = slots - running.length;
    return free > (owner && slots > 1 && countOf('keyId', owner) > 0 ? 1 : 0);
  }

  /** Returns the rank of work. The lowest rank has the next turn. */
  const rankOf = (owner: SlotOwner | undefined): number =>
    owner ? 1 + countOf('workspaceId', owner) * slots + countOf('keyId', owner) : 0;

  function findNext(): Waiting | undefined {
    let next: { waiting: Waiting; rank: number } | undefined;
    for (const [waiting] of lines.values()) {
      if (!waiting || !mayBegin(waiting.owner)) continue;
      const rank = rankOf(waiting.owner);
      if (!next || rank < next.rank) next = { waiting, rank };
    }
    return next?.waiting;
  }

  /** Removes waiting work and moves its key to the end. */
  function takeOut(waiting: Waiting): void {
    const keyId = waiting.owner?.keyId;
    const rest = (lines.get(keyId) ?? []).filter((other) => other !== waiting);
    lines.delete(keyId);
    if (rest.length > 0) lines.set(keyId, rest);
  }

  function serve(): void {
    for (let next = findNext(); next; next = findNext()) {
      takeOut(next);
      running.push(next.owner);
      next.begin();
    }
  }

  function waitForTurn({ owner, isPatient = owner === undefined, signal }: WorkOptions): Promise<void> {
    signal.throwIfAborted();
    const line = lines.get(owner?.keyId) ?? [];
    if (!isPatient && !mayBegin(owner) && line.length >= maxWaiting) throw new MediaFault('overloaded');
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { owner, begin };
      const timer = isPatient ? undefined : setTimeout(() => leave(new MediaFault('overloaded')), maxWaitMs);
      const abort = () => leave(signal.reason);
      function begin(): void {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        resolve();
      }
      function leave(reason: unknown): void {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        takeOut(waiting);
        reject(reason);
      }
      lines.set(owner?.keyId, [...line, waiting]);
      signal.addEventListener('abort', abort, { once: true });
      serve();
    });
  }

  return {
    get load() {
      return { running: running.length, waiting: [...lines.values()].flat().length };
    },
    async run(work, options) {
      await waitForTurn(options);
      try {
        return await work();
      } finally {
        running.splice(running.indexOf(options.owner), 1);
        serve();
      }
    },
  };
}
