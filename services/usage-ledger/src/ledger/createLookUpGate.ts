import { setTimeout as delay } from 'node:timers/promises';
import { isCanceled, isUnreachable } from '@turnpike/postgres/databaseFailure';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerError.ts';

export interface LookUpGateOptions {
  /** Queries at Postgres at once. */
  slots: number;
  /** The most of these slots for one key, so that a key whose look-ups are slow leaves room for the others. */
  slotsPerKey: number;
  /** Longest wait of one look-up, for a slot and for Postgres together. */
  timeoutMs: number;
}

/**
 * Runs a key's query when there is room for it. Throws `usage_timeout` past the allowance, and `ledger_unavailable` when
 * there is no database or too many look-ups are waiting.
 */
export type LookUpGate = <T>(keyId: string, query: () => Promise<T>) => Promise<T>;

interface Waiting {
  keyId: string;
  begin: () => void;
}

/** Look-ups waiting for a slot, in all and of one key; one more is refused at once. */
const MAX_WAITING = 1_000;
const MAX_WAITING_PER_KEY = 250;

/**
 * Keeps slow look-ups from taking all of the pool. A look-up that was given up while it waited never reaches Postgres; one
 * that is given up while it runs keeps its slot until Postgres has let go of it too.
 */
export function createLookUpGate({ slots, slotsPerKey, timeoutMs }: LookUpGateOptions): LookUpGate {
  const running = new Map<string, number>();
  const queue: Waiting[] = [];
  let taken = 0;

  const hasRoom = (keyId: string): boolean => taken < slots && (running.get(keyId) ?? 0) < slotsPerKey;

  const isFull = (keyId: string): boolean =>
    queue.length >= MAX_WAITING || queue.filter((waiting) => waiting.keyId === keyId).length >= MAX_WAITING_PER_KEY;

  function take(keyId: string): void {
    taken += 1;
    running.set(keyId, (running.get(keyId) ?? 0) + 1);
  }

  function release(keyId: string): void {
    taken -= 1;
    const left = (running.get(keyId) ?? 0) - 1;
    if (left > 0) running.set(keyId, left);
    else running.delete(keyId);
    const next = queue.findIndex((waiting) => hasRoom(waiting.keyId));
    const [waiting] = next === -1 ? [] : queue.splice(next, 1);
    if (!waiting) return;
    take(waiting.keyId);
    waiting.begin();
  }

  /** Takes a slot, or waits for one. After the look-up was given up it is out of the queue, and waits for nothing. */
  async function slotFor(keyId: string, givenUp: AbortSignal): Promise<void> {
    if (hasRoom(keyId)) return take(keyId);
    if (isFull(keyId)) throw new ApiError<LedgerFault>({ kind: 'ledger_unavailable' });
    await new Promise<void>((begin) => {
      const waiting = { keyId, begin };
      queue.push(waiting);
      givenUp.addEventListener('abort', () => {
        const place = queue.indexOf(waiting);
        if (place !== -1) queue.splice(place, 1);
      });
    });
  }

  async function inSlot<T>(keyId: string, query: () => Promise<T>, givenUp: AbortSignal): Promise<T> {
    await slotFor(keyId, givenUp);
    try {
      return await query();
    } finally {
      release(keyId);
    }
  }

  return async (keyId, query) => {
    const over = new AbortController();
    try {
      return await Promise.race([inSlot(keyId, query, over.signal), rejectAfter(timeoutMs, over.signal)]);
    } catch (error) {
      throw toFault(error);
    } finally {
      over.abort();
    }
  };
}

/** Covers what the statement's own time limit does not: waiting for a slot or a connection, and a silent server. */
async function rejectAfter(timeoutMs: number, signal: AbortSignal): Promise<never> {
  await delay(timeoutMs, undefined, { signal });
  throw new ApiError<LedgerFault>({ kind: 'usage_timeout' });
}

function toFault(error: unknown): unknown {
  if (isCanceled(error)) return new ApiError<LedgerFault>({ kind: 'usage_timeout' }, { cause: error });
  if (isUnreachable(error)) return new ApiError<LedgerFault>({ kind: 'ledger_unavailable' }, { cause: error });
  return error;
}
