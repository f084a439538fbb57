import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '@turnpike/api-errors/apiError';
import { isCanceled, isUnreachable } from '@turnpike/postgres/databaseFailure';
import type { Db } from '../database/createDb.ts';
import type { UsageRequest } from '../generated/client.ts';
import type { LedgerFault } from '../ledgerFault.ts';

const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The recorded call of an id, if the key made it. An id that could not be one, an id of another key and an id whose row
 * is not written yet are all undefined. Throws `usage_timeout` past `timeoutMs`, `ledger_unavailable` without a database.
 */
export async function findUsageRequest(
  db: Db,
  { callId, keyId, timeoutMs }: { callId: string; keyId: string; timeoutMs: number },
): Promise<UsageRequest | undefined> {
  if (!UUID_PATTERN.test(callId)) return undefined;
  const answered = new AbortController();
  try {
    const query = db.usageRequest.findFirst({ where: { callId, keyId } });
    const usage = await Promise.race([query, rejectAfter(timeoutMs, answered.signal)]);
    return usage ?? undefined;
  } catch (error) {
    throw toFault(error);
  } finally {
    answered.abort();
  }
}

/** Covers what the statement's own time limit does not: waiting for a connection, and a server that answers nothing. */
async function rejectAfter(timeoutMs: number, signal: AbortSignal): Promise<never> {
  await delay(timeoutMs, undefined, { signal });
  throw new ApiError<LedgerFault>({ kind: 'usage_timeout' });
}

function toFault(error: unknown): unknown {
  if (isCanceled(error)) return new ApiError<LedgerFault>({ kind: 'usage_timeout' }, { cause: error });
  if (isUnreachable(error)) return new ApiError<LedgerFault>({ kind: 'ledger_unavailable' }, { cause: error });
  return error;
}
