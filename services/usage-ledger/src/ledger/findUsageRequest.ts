import type { Db } from '../database/createDb.ts';
import type { UsageRequest } from '../generated/client.ts';
import type { UsageOwner } from './listUsage.ts';
import { callInstantMs } from './readUsageEvent.ts';

const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Returns the recorded call of an id, if it is the owner's. Returns undefined for a malformed id, an id of another
 * owner and an id whose row is not written yet. A key finds no media call, because it has the job instead.
 */
export async function findUsageRequest(
  db: Pick<Db, 'usageRequest'>,
  { callId, ...owner }: { callId: string } & UsageOwner,
): Promise<UsageRequest | undefined> {
  const call = await findAnyUsageRequest(db, callId);
  const isOwned =
    'keyId' in owner
      ? call?.keyId === owner.keyId && call.modality === 'text'
      : call?.workspaceId === owner.workspaceId;
  return isOwned ? call : undefined;
}

/** Returns the recorded call of any workspace by its id, for the operator. */
export async function findAnyUsageRequest(
  db: Pick<Db, 'usageRequest'>,
  callId: string,
): Promise<UsageRequest | undefined> {
  if (!UUID_PATTERN.test(callId)) return undefined;
  const id = callId.toLowerCase();
  // A row is always read: that of the id, or the nearest before it. Otherwise the response time would distinguish
  // another key's id from one that was never issued.
  const nearest = await db.usageRequest.findFirst({
    where: { callId: { gte: firstCallIdOfMonth(id), lte: id } },
    orderBy: { callId: 'desc' },
  });
  return nearest?.callId === id ? nearest : undefined;
}

/**
 * Spans around a request in which its call begins, the usual one first. A call begins once the key is known, and a
 * media call once its body is read. The clocks of edge and router may differ.
 */
const BEGINS_WITHIN = [
  { beforeMs: 1_000, afterMs: 10_000 },
  { beforeMs: 60_000, afterMs: 15 * 60_000 },
];

/**
 * Returns the recorded call of any workspace by the `x-request-id` of its answer, for the operator. The request id
 * contains its time, so that only calls of that time are read.
 */
export async function findUsageRequestOf(
  db: Pick<Db, 'usageRequest'>,
  requestId: string,
): Promise<UsageRequest | undefined> {
  if (!UUID_PATTERN.test(requestId)) return undefined;
  const madeMs = callInstantMs(requestId);
  for (const { beforeMs, afterMs } of BEGINS_WITHIN) {
    const callId = { gte: firstCallIdAt(Math.max(0, madeMs - beforeMs)), lt: firstCallIdAt(madeMs + afterMs) };
    const found = await db.usageRequest.findFirst({ where: { callId, requestId } });
    if (found) return found;
  }
  return undefined;
}

/** Returns the smallest call id of a call id's UTC month, where the partition of both begins. */
function firstCallIdOfMonth(callId: string): string {
  const instant = new Date(callInstantMs(callId));
  return firstCallIdAt(Date.UTC(instant.getUTCFullYear(), instant.getUTCMonth()));
}

/** Returns the smallest call id of an instant, in milliseconds. */
function firstCallIdAt(instantMs: number): string {
  const hex = Math.min(instantMs, LAST_INSTANT_MS).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
/** The last instant that a UUIDv7 can hold. */
const LAST_INSTANT_MS = 2 ** 48 - 1;
