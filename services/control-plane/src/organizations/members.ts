import { isWithin, type Role } from '@turnpike/console-api/roles';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';

/** The member who asks. */
export interface Acting {
  organizationId: string;
  userId: string;
}

const withUser = { user: { include: { emails: { orderBy: { verifiedAt: 'asc' }, take: 1 } } } } as const;

interface MemberRow {
  userId: string;
  role: string;
  joinedAt: Date;
  user: { name: string; emails: { address: string }[] };
}

const toBody = ({ userId, role, joinedAt, user }: MemberRow) => ({
  user_id: userId,
  name: user.name,
  address: user.emails[0]?.address ?? null,
  role: role as Role,
  joined_at: joinedAt.toISOString(),
});

export async function listMembers(db: Db, organizationId: string) {
  const rows = await db.member.findMany({ where: { organizationId }, include: withUser, orderBy: { joinedAt: 'asc' } });
  return rows.map(toBody);
}

/** Most former members whose names are listed. */
const MAX_FORMER = 1_000;

/** Lists users who were members and are none now, by name, because changes that they made stay: of many, those who left last. */
export async function listFormerMembers(db: Db, organizationId: string): Promise<{ user_id: string; name: string }[]> {
  return db.query(sql<{ user_id: string; name: string }>`
    SELECT user_id, name FROM account_user JOIN (
      SELECT target, max(audit_id) AS last FROM audit
      WHERE organization_id = ${organizationId} AND action IN ('member.removed', 'member.left')
        AND target NOT IN (SELECT user_id FROM member WHERE organization_id = ${organizationId})
      GROUP BY target ORDER BY last DESC LIMIT ${MAX_FORMER}
    ) AS former ON target = user_id
    ORDER BY name, user_id`);
}

/**
 * Reads the roles of the acting member and of the one to be changed, and locks both rows. A role that was taken away meanwhile changes
 * nothing any more.
 */
async function lockRoles(
  tx: Tx,
  { organizationId, userId }: Acting,
  targetId: string,
): Promise<{ acting: Role; target: Role }> {
  const rows = await tx.$queryRaw<{ user_id: string; role: Role }[]>(sql`
    SELECT user_id, role FROM member WHERE organization_id = ${organizationId} AND user_id IN (${userId}, ${targetId})
    ORDER BY user_id FOR UPDATE`);
  const roleOf = (id: string) => rows.find(({ user_id }) => user_id === id)?.role;
  const acting = roleOf(userId);
  const target = roleOf(targetId);
  if (acting === undefined) throw new ApiError({ kind: 'organization_not_found' });
  if (target === undefined) throw new ApiError({ kind: 'unknown_member' });
  return { acting, target };
}

function refuseAbove(acting: Role, ...roles: Role[]): void {
  if (!roles.every((role) => isWithin(role, acting))) throw new ApiError({ kind: 'above_own_role' });
}

export async function changeRole(
  db: Db,
  by: Acting,
  { targetId, role }: { targetId: string; role: Role },
  origin: Origin,
) {
  const { organizationId } = by;
  return keepingAnOwner(() =>
    db.$transaction(async (tx) => {
      const { acting, target } = await lockRoles(tx, by, targetId);
      refuseAbove(acting, target, role);
      const row = await tx.member.update({
        where: { organizationId_userId: { organizationId, userId: targetId } },
        data: { role },
        include: withUser,
      });
      await writeAudit(tx, origin, {
        organizationId,
        actor: by.userId,
        action: 'member.role_changed',
        target: targetId,
        before: { role: target },
        after: { role },
      });
      return toBody(row);
    }),
  );
}

/** Removes a member, or has the acting one leave. The right to it is asked for at each request, so it ends at once. */
export async function removeMember(db: Db, by: Acting, targetId: string, origin: Origin): Promise<void> {
  const { organizationId, userId } = by;
  await keepingAnOwner(() =>
    db.$transaction(async (tx) => {
      const { acting, target } = await lockRoles(tx, by, targetId);
      if (targetId !== userId) refuseAbove(acting, target);
      await tx.member.delete({ where: { organizationId_userId: { organizationId, userId: targetId } } });
      await writeAudit(tx, origin, {
        organizationId,
        actor: userId,
        action: targetId === userId ? 'member.left' : 'member.removed',
        target: targetId,
        before: { role: target },
      });
    }),
  );
}

/** Words the refusal of the trigger `keep_an_owner`, which speaks when the transaction commits. */
async function keepingAnOwner<Result>(change: () => Promise<Result>): Promise<Result> {
  try {
    return await change();
  } catch (error) {
    if (error instanceof Error && /an organization has an owner/.test(`${error.message} ${JSON.stringify(error)}`))
      throw new ApiError({ kind: 'last_owner' });
    throw error;
  }
}
