import type { Role } from '@turnpike/console-api/roles';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';
import { lockOrganization } from './workspaces.ts';

const MAX_ORGANIZATIONS = 20;

interface OrganizationRow {
  organizationId: string;
  name: string;
  createdAt: Date;
}

const toBody = ({ organizationId, name, createdAt }: OrganizationRow, role: Role) => ({
  organization_id: organizationId,
  name,
  role,
  created_at: createdAt.toISOString(),
});

/** Refuses a further organization of a user who belongs to 20. The lock has requests of one user take turns. */
export async function refuseTooMany(tx: Tx, userId: string): Promise<void> {
  await tx.$queryRaw(sql`SELECT 1 AS one FROM account_user WHERE user_id = ${userId} FOR NO KEY UPDATE`);
  if ((await tx.member.count({ where: { userId } })) >= MAX_ORGANIZATIONS)
    throw new ApiError({ kind: 'too_many_organizations' });
}

export async function createOrganization(db: Db, { name, userId }: { name: string; userId: string }, origin: Origin) {
  const organizationId = `org_${newUuidV7()}`;
  return db.$transaction(async (tx) => {
    await refuseTooMany(tx, userId);
    const members = { create: { userId, role: 'owner' } };
    const row = await tx.organization.create({ data: { organizationId, name, members } });
    await writeAudit(tx, origin, {
      organizationId,
      actor: userId,
      action: 'organization.created',
      target: organizationId,
      after: { name },
    });
    return toBody(row, 'owner');
  });
}

export async function listOrganizations(db: Db, userId: string) {
  const members = await db.member.findMany({
    where: { userId },
    include: { organization: true },
    orderBy: { organization: { name: 'asc' } },
  });
  return members.map(({ organization, role }) => toBody(organization, role as Role));
}

export async function getOrganization(db: Db | Tx, { organizationId, role }: { organizationId: string; role: Role }) {
  return toBody(await db.organization.findUniqueOrThrow({ where: { organizationId } }), role);
}

export async function renameOrganization(
  db: Db,
  { organizationId, role, userId, name }: { organizationId: string; role: Role; userId: string; name: string },
  origin: Origin,
) {
  return db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    const before = await tx.organization.findUniqueOrThrow({ where: { organizationId } });
    const row = await tx.organization.update({ where: { organizationId }, data: { name } });
    await writeAudit(tx, origin, {
      organizationId,
      actor: userId,
      action: 'organization.renamed',
      target: organizationId,
      before: { name: before.name },
      after: { name },
    });
    return toBody(row, role);
  });
}
