import { isWithin, type Role } from '@turnpike/console-api/roles';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';
import type { Prisma } from '../generated/client.ts';
import { hashToken, newToken } from '../identity/sessions.ts';
import type { Outbox } from '../mail/outbox.ts';
import type { Acting } from './members.ts';
import { getOrganization, refuseTooMany } from './organizations.ts';

const DAY_MS = 24 * 3_600_000;
const VALID_MS = 7 * DAY_MS;
const LISTED_MS = 90 * DAY_MS;
/** No more are sent in the time in which they are valid either, so that the list has all that are open. */
const MAX_LISTED = 500;

interface InvitationRow {
  invitationId: string;
  address: string;
  role: string;
  invitedBy: string;
  createdAt: Date;
  endsAt: Date;
  status: string;
}

function toBody({ invitationId, address, role, invitedBy, createdAt, endsAt, status }: InvitationRow) {
  const isOver = status === 'open' && endsAt.getTime() <= Date.now();
  return {
    invitation_id: invitationId,
    address,
    role: role as Role,
    invited_by: invitedBy,
    created_at: createdAt.toISOString(),
    ends_at: endsAt.toISOString(),
    status: (isOver ? 'expired' : status) as 'open' | 'accepted' | 'withdrawn' | 'expired',
  };
}

export async function listInvitations(db: Db, organizationId: string) {
  const rows = await db.invitation.findMany({
    where: { organizationId, createdAt: { gt: new Date(Date.now() - LISTED_MS) } },
    orderBy: { createdAt: 'desc' },
    take: MAX_LISTED,
  });
  return rows.map(toBody);
}

/** Invites an address. The answer is the same whether or not it is that of a user. */
export async function invite(
  { db, outbox }: { db: Db; outbox: Outbox },
  { organizationId, userId, role: actingRole }: Acting & { role: Role },
  { address, role }: { address: string; role: Role },
  origin: Origin,
) {
  if (!isWithin(role, actingRole)) throw new ApiError({ kind: 'above_own_role' });
  const token = newToken();
  return db.$transaction(async (tx) => {
    const member = await tx.member.findFirst({ where: { organizationId, user: { emails: { some: { address } } } } });
    if (member) throw new ApiError({ kind: 'is_a_member' });
    // The lock has invitations to one address take turns.
    const [{ name: organization } = { name: '' }] = await tx.$queryRaw<{ name: string }[]>(sql`
      SELECT name FROM organization WHERE organization_id = ${organizationId} FOR NO KEY UPDATE`);
    const sent = await tx.invitation.count({
      where: { organizationId, createdAt: { gt: new Date(Date.now() - VALID_MS) } },
    });
    if (sent >= MAX_LISTED) throw new ApiError({ kind: 'too_many_invitations' });
    await refuseHigher(tx, { organizationId, address }, actingRole);
    const { name: inviter } = await tx.user.findUniqueOrThrow({ where: { userId } });
    await tx.invitation.updateMany({
      where: { organizationId, address, status: 'open' },
      data: { status: 'withdrawn' },
    });
    const row = await tx.invitation.create({
      data: {
        invitationId: `inv_${newUuidV7()}`,
        organizationId,
        address,
        role,
        tokenHash: hashToken(token),
        invitedBy: userId,
        endsAt: new Date(Date.now() + VALID_MS),
      },
    });
    await outbox.post(tx, {
      template: 'invitation',
      address,
      data: { path: `/invitation#${token}`, organization, inviter, role },
    });
    await writeAudit(tx, origin, {
      organizationId,
      actor: userId,
      action: 'invitation.sent',
      target: row.invitationId,
      after: { address, role },
    });
    return toBody(row);
  });
}

/** Throws `above_own_role` where an open invitation has a role that the acting member could not give. */
async function refuseHigher(tx: Tx, where: Prisma.InvitationWhereInput, actingRole: Role): Promise<void> {
  const open = await tx.invitation.findFirst({ where: { ...where, status: 'open', endsAt: { gt: new Date() } } });
  if (open && !isWithin(open.role as Role, actingRole)) throw new ApiError({ kind: 'above_own_role' });
}

export async function withdrawInvitation(
  db: Db,
  { organizationId, userId, role: actingRole }: Acting & { role: Role },
  invitationId: string,
  origin: Origin,
): Promise<void> {
  await db.$transaction(async (tx) => {
    await refuseHigher(tx, { organizationId, invitationId }, actingRole);
    const { count } = await tx.invitation.updateMany({
      where: { invitationId, organizationId, status: 'open' },
      data: { status: 'withdrawn' },
    });
    if (count === 0) throw new ApiError({ kind: 'unknown_invitation' });
    await writeAudit(tx, origin, {
      organizationId,
      actor: userId,
      action: 'invitation.withdrawn',
      target: invitationId,
    });
  });
}

/**
 * Makes the user a member. An invitation is taken once, in time, by a user who has proved to read the invited address. The inviter must
 * still be allowed to give that role. Everything else is one refusal.
 */
export async function acceptInvitation(db: Db, { token, userId }: { token: string; userId: string }, origin: Origin) {
  return db.$transaction(async (tx) => {
    await refuseTooMany(tx, userId);
    const invitation = await tx.invitation.findUnique({ where: { tokenHash: hashToken(token) } });
    const { count } = await tx.invitation.updateMany({
      where: {
        tokenHash: hashToken(token),
        status: 'open',
        endsAt: { gt: new Date() },
      },
      data: { status: 'accepted' },
    });
    if (!invitation || count === 0) throw new ApiError({ kind: 'unknown_invitation' });
    const { organizationId, address, invitedBy, invitationId } = invitation;
    const role = invitation.role as Role;
    const email = await tx.email.findUnique({ where: { address } });
    const inviter = await tx.member.findUnique({
      where: { organizationId_userId: { organizationId, userId: invitedBy } },
    });
    const mayInvite = inviter && (inviter.role === 'owner' || inviter.role === 'admin') && isWithin(role, inviter.role);
    if (email?.userId !== userId || !mayInvite) throw new ApiError({ kind: 'unknown_invitation' });
    const { count: joined } = await tx.member.createMany({
      data: [{ organizationId, userId, role }],
      skipDuplicates: true,
    });
    if (joined === 0) throw new ApiError({ kind: 'already_joined' });
    await writeAudit(tx, origin, {
      organizationId,
      actor: userId,
      action: 'invitation.accepted',
      target: invitationId,
      after: { role },
    });
    return getOrganization(tx, { organizationId, role });
  });
}
