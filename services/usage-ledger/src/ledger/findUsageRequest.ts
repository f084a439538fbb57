import type { Db } from '../database/createDb.ts';
import type { UsageRequest } from '../generated/client.ts';
import type { UsageOwner } from './listUsage.ts';
import { callInstantMs } from './readUsageEvent.ts';

const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Returns the recorded call of an id, if it is the owner's. An id that could not be one, an id of another owner and an id whose row
 * is not written yet are all undefined. A key finds no call of media, because the key's handle for it is the job.
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
  // A row is read whether the id has one or not, the nearest before it if need be: otherwise the time that the answer
  // takes would tell an id that another key was given from one that was never issued.
  const nearest = await db.usageRequest.findFirst({
    where: { callId: { gte: firstCallIdOfMonth(id), lte: id } },
    orderBy: { callId: 'desc' },
  });
  return nearest?.callId === id ? nearest : undefined;
}

/** The smallest call id of the UTC month that a call id lies in: where the partition of both begins. */
function firstCallIdOfMonth(callId: string): string {
  const instant = new Date(callInstantMs(callId));
  const monthMs = Date.UTC(instant.getUTCFullYear(), instant.getUTCMonth());
  const hex = monthMs.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
