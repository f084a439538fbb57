import { setTimeout as delay } from 'node:timers/promises';
import { isCanceled, isUnreachable } from '@turnpike/postgres/databaseFailure';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerError.ts';

export interface LookUpGateOptions {
  /** Concurrent queries in Postgres. */
  slots: number;
  /** Most of these slots for one key, so that a key with slow requests leaves room for others. */
  slotsPerKey: number;
  /** Longest wait of one read request, for a slot and for Postgres together. */
  timeoutMs: number;
}

/**
 * Runs a key's query once a slot is free. Throws `usage_timeout` after `timeoutMs`. Throws `ledger_unavailable` without
 * a database, or if too many read requests wait.
 */
export type LookUpGate = <T>(keyId: string, query: () => Promise<T>) => Promise<T>;

interface Waiting {
  keyId: string;
  begin: () => void;
}

/** Read requests that may wait for a slot, in all and of one key. One more is refused at once. */
const MAX_WAITING = 1_000;
const MAX_WAITING_PER_KEY = 250;

/**
 * Bounds slow read requests, so that they do not take the whole pool. A request that is given up while it waits never
 * reaches Postgres. One that is given up while it runs keeps its slot until Postgres has ended it.
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

  /** Takes a slot or waits for one. A request that is given up leaves the queue. */
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

/**
 * Rejects after `timeoutMs`. Covers the waits that the statement timeout does not: for a slot, a connection, and a
 * silent server.
 */
async function rejectAfter(timeoutMs: number, signal: AbortSignal): Promise<never> {
  await delay(timeoutMs, undefined, { signal });
  throw new ApiError<LedgerFault>({ kind: 'usage_timeout' });
}

function toFault(error: unknown): unknown {
  if (isCanceled(error)) return new ApiError<LedgerFault>({ kind: 'usage_timeout' }, { cause: error });
  if (isUnreachable(error)) return new ApiError<LedgerFault>({ kind: 'ledger_unavailable' }, { cause: error });
  return error;
}
