import type { SlotOwner } from '@turnpike/request-reading/shares/fairSlots';
import { MediaFault } from './mediaFault.ts';

/** Work with an owner is a client's. Work without one is what a backend made: it goes first, and waits as long as it takes. */
export interface WorkOptions {
  owner?: SlotOwner | undefined;
  /** Work of a client that waits as long as it takes, as its job does. */
  isPatient?: boolean | undefined;
  signal: AbortSignal;
}

/** So much at a time. The rest waits for its turn. */
export interface WorkPool {
  /**
   * Runs `work` when it has its turn. Work of clients that is not patient is refused as `overloaded` where its key has too much waiting, or
   * after `maxWaitMs`. Rejects with the signal's reason where that fires before its turn.
   */
  run<Result>(work: () => Promise<Result>, options: WorkOptions): Promise<Result>;
  /** At this moment. */
  readonly load: { running: number; waiting: number };
}

export interface WorkPoolOptions {
  slots: number;
  /** Work of one key. */
  maxWaiting: number;
  maxWaitMs: number;
}

interface Waiting {
  owner: SlotOwner | undefined;
  begin(): void;
}

/**
 * Turns go first to what backends made, then to the workspace with the least under way, then to its key with the least, then to the key
 * whose last turn is longest ago. A key that has work under way leaves the last slot to others, so that one key never has all slots.
 */
export function createWorkPool({ slots, maxWaiting, maxWaitMs }: WorkPoolOptions): WorkPool {
  const running: (SlotOwner | undefined)[] = [];
  /** Work that waits, by key, each in the order of arrival. Work without an owner is under undefined. The key served last is the last one. */
  const lines = new Map<string | undefined, Waiting[]>();

  const countOf = (name: keyof SlotOwner, owner: SlotOwner): number =>
    running.filter((other) => other?.[name] === owner[name]).length;

  function mayBegin(owner: SlotOwner | undefined): boolean {
    const free = slots - running.length;
    return free > (owner && slots > 1 && countOf('keyId', owner) > 0 ? 1 : 0);
  }

  /** The less it is, the sooner its turn comes. */
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

  /** The key's line is the last one from then on. */
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
