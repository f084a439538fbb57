import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { type HoldBody, PAGE_SIZE } from '@turnpike/internal-api/controlPlane';
import { ApiError } from '@turnpike/public-api/apiError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db } from '../database/openDatabase.ts';
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

/** Opens a hold and tells the regions, in one transaction. The audit, which members read, names neither reason nor note. */
export async function openHold(
  db: Db,
  { organizationId, reason, note, by }: { organizationId: string; reason: string; note: string; by: string },
  origin: Origin,
): Promise<HoldBody> {
  return db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    const holdId = `hold_${newUuidV7()}`;
    const hold = await tx.accountHold.create({ data: { holdId, organizationId, reason, note, openedBy: by } });
    await writeAudit(tx, origin, { organizationId, actor: by, action: 'hold.opened', target: holdId });
    await tellWorkspaces(tx, organizationId);
    return toBody(hold);
  });
}

/** Ends a hold and tells the regions, in one transaction. Returns an ended one as it is. Throws `hold_not_found`. */
export async function endHold(
  db: Db,
  { holdId, by }: { holdId: string; by: string },
  origin: Origin,
): Promise<HoldBody> {
  return db.$transaction(async (tx) => {
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
  });
}
