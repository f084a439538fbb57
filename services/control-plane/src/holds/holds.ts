import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { type HoldBody, PAGE_SIZE } from '@turnpike/internal-api/controlPlane';
import { ApiError } from '@turnpike/public-api/apiError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';
import type { AccountHold } from '../generated/client.ts';
import { lockOrganization, tellWorkspaces } from '../organizations/workspaces.ts';

const toBody = (hold: AccountHold): HoldBody => ({
  hold_id: hold.holdId,
  organization_id: hold.organizationId,
  reason: hold.reason as HoldBody['reason'],
  note: hold.note,
  opened_by: hold.openedBy,
  opened_at: hold.openedAt.toISOString(),
  ended_by: hold.endedBy,
  ended_at: hold.endedAt?.toISOString() ?? null,
});

/** Lists holds by their ids: all of an organization, or the open ones of every organization. */
export async function listHolds(db: Db, { organizationId, after }: { organizationId?: string; after: string }) {
  const of = organizationId === undefined ? { endedAt: null } : { organizationId };
  const rows = await db.accountHold.findMany({
    where: { ...of, holdId: { gt: after } },
    orderBy: { holdId: 'asc' },
    take: PAGE_SIZE,
  });
  return { holds: rows.map(toBody), next_after: rows.length < PAGE_SIZE ? null : (rows.at(-1)?.holdId ?? null) };
}

interface NewHold {
  organizationId: string;
  reason: string;
  note: string;
  by: string;
}

/** Opens a hold and tells the regions, in one transaction. */
export const openHold = (db: Db, hold: NewHold, origin: Origin): Promise<HoldBody> =>
  db.$transaction((tx) => openHoldIn(tx, hold, origin));

/** Opens a hold and tells the regions, in the transaction of its cause. The audit, which members read, names neither reason nor note. */
export async function openHoldIn(
  tx: Tx,
  { organizationId, reason, note, by }: NewHold,
  origin: Origin,
): Promise<HoldBody> {
  await lockOrganization(tx, organizationId);
  const holdId = `hold_${newUuidV7()}`;
  const hold = await tx.accountHold.create({ data: { holdId, organizationId, reason, note, openedBy: by } });
  await writeAudit(tx, origin, { organizationId, actor: by, action: 'hold.opened', target: holdId });
  await tellWorkspaces(tx, organizationId);
  return toBody(hold);
}

/** Ends a hold and tells the regions, in one transaction. Returns an ended one as it is. Throws `hold_not_found`. */
export const endHold = (db: Db, hold: { holdId: string; by: string }, origin: Origin): Promise<HoldBody> =>
  db.$transaction((tx) => endHoldIn(tx, hold, origin));

/** Ends a hold and tells the regions, in the transaction of its cause. Returns an ended one as it is. Throws `hold_not_found`. */
export async function endHoldIn(
  tx: Tx,
  { holdId, by }: { holdId: string; by: string },
  origin: Origin,
): Promise<HoldBody> {
  const known = await tx.accountHold.findUnique({ where: { holdId } });
  if (!known) throw new ApiError({ kind: 'hold_not_found' });
  const { organizationId } = known;
  await lockOrganization(tx, organizationId);
  const { count } = await tx.accountHold.updateMany({
    where: { holdId, endedAt: null },
    data: { endedBy: by, endedAt: new Date() },
  });
  if (count === 1) {
    await writeAudit(tx, origin, { organizationId, actor: by, action: 'hold.ended', target: holdId });
    await tellWorkspaces(tx, organizationId);
  }
  return toBody(await tx.accountHold.findUniqueOrThrow({ where: { holdId } }));
}
