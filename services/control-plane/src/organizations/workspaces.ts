import type { SigningKey } from '@turnpike/config/internalKeys';
import type { Region } from '@turnpike/config/region';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { type ConsoleCaller, signConsoleToken } from '@turnpike/internal-auth/consoleToken';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import { type Origin, writeAudit } from '../audit/audit.ts';
import type { Db, Tx } from '../database/openDatabase.ts';
import { tell } from '../feed/feed.ts';
import { post, walletOf } from '../ledger/post.ts';

interface WorkspaceRow {
  workspaceId: string;
  region: string;
  name: string;
  status: string;
  monthlyCapNanoUsd: bigint | null;
  createdAt: Date;
}

const toBody = (
  { workspaceId, region, name, status, monthlyCapNanoUsd, createdAt }: WorkspaceRow,
  isHeld: boolean,
) => ({
  workspace_id: workspaceId,
  region: region as Region,
  name,
  status: toStatus(status, isHeld),
  monthly_cap_nano_usd: toNanoText(monthlyCapNanoUsd),
  created_at: createdAt.toISOString(),
});

export const toNanoText = (amount: bigint | null): string | null => (amount === null ? null : String(amount));

export async function listWorkspaces(db: Db, organizationId: string) {
  const isHeld = await isOnHold(db, organizationId);
  const rows = await db.workspace.findMany({ where: { organizationId }, orderBy: { createdAt: 'asc' } });
  return rows.map((row) => toBody(row, isHeld));
}

/** A workspace as its region is told of it. */
interface ToldWorkspace extends Omit<WorkspaceRow, 'createdAt'> {
  organizationId: string;
  version: number;
}

/** Locks an organization, so that changes of its holds and its workspaces take turns until they commit. */
export const lockOrganization = (tx: Tx, organizationId: string) =>
  tx.$queryRaw(sql`SELECT 1 AS one FROM organization WHERE organization_id = ${organizationId} FOR NO KEY UPDATE`);

/** Says whether an organization is on hold, which it is while one of its holds is open. */
export const isOnHold = async (db: Db | Tx, organizationId: string): Promise<boolean> =>
  (await db.accountHold.findFirst({ where: { organizationId, endedAt: null } })) !== null;

/** Returns the status of a workspace for its region: a hold of the organization comes before the workspace's own status. */
export const toStatus = (status: string, isHeld: boolean): 'active' | 'on_hold' | 'not_provisioned' =>
  isHeld ? 'on_hold' : (status as 'active' | 'not_provisioned');

/**
 * Tells the region of a workspace its whole document. The caller holds the lock of the organization. Returns whether the organization is
 * on hold.
 */
async function tellWorkspace(tx: Tx, workspace: ToldWorkspace): Promise<boolean> {
  const { workspaceId, organizationId, region, name, status, monthlyCapNanoUsd, version } = workspace;
  const isHeld = await isOnHold(tx, organizationId);
  await tell(tx, region as Region, {
    kind: 'workspace',
    workspace_id: workspaceId,
    organization_id: organizationId,
    name,
    status: toStatus(status, isHeld),
    monthly_cap_nano_usd: toNanoText(monthlyCapNanoUsd),
    version,
  });
  return isHeld;
}

/** Tells every region its workspace of an organization anew, each in its next version. */
export async function tellWorkspaces(tx: Tx, organizationId: string): Promise<void> {
  const increased = { version: { increment: 1 } };
  const workspaces = await tx.workspace.updateManyAndReturn({ where: { organizationId }, data: increased });
  // Sorted by region, so that two transactions wait for the feeds in one order.
  const byRegion = workspaces.toSorted((a, b) => (a.region < b.region ? -1 : 1));
  for (const workspace of byRegion) await tellWorkspace(tx, workspace);
}

/** Sets a workspace up for billing, and tells its region. Changes nothing of one that is. */
export async function provisionWorkspace(
  tx: Tx,
  { organizationId, workspaceId }: { organizationId: string; workspaceId: string },
): Promise<void> {
  await lockOrganization(tx, organizationId);
  const [workspace] = await tx.workspace.updateManyAndReturn({
    where: { workspaceId, status: 'not_provisioned' },
    data: { status: 'active', version: { increment: 1 } },
  });
  if (workspace) await tellWorkspace(tx, workspace);
}

/** The credit of the first workspace that a user makes, in whatever organization. Undefined: there is none. */
export type WelcomeCredit = { nanoUsd: bigint } | undefined;

/**
 * Makes the one workspace of an organization in a region, and tells the region. Of rivals at the same time one makes it. It is set up for
 * billing where it gets a credit to begin with.
 */
export async function createWorkspace(
  { db, welcomeCredit }: { db: Db; welcomeCredit: WelcomeCredit },
  { organizationId, userId, region, name }: { organizationId: string; userId: string; region: Region; name: string },
  origin: Origin,
) {
  const workspaceId = `ws_${newUuidV7()}`;
  return db.$transaction(async (tx) => {
    const credit = welcomeCredit && (await takeWelcome(tx, userId)) ? welcomeCredit : undefined;
    const status = credit ? 'active' : 'not_provisioned';
    const { count } = await tx.workspace.createMany({
      data: [{ workspaceId, organizationId, region, name, status }],
      skipDuplicates: true,
    });
    if (count === 0) throw new ApiError({ kind: 'workspace_exists' });
    // Taken by the winner alone: rivals that queued for it kept all connections busy.
    await lockOrganization(tx, organizationId);
    const row = await tx.workspace.findUniqueOrThrow({ where: { workspaceId } });
    await writeAudit(tx, origin, {
      organizationId,
      actor: userId,
      action: 'workspace.created',
      target: workspaceId,
      after: { region, name },
    });
    const isHeld = await tellWorkspace(tx, row);
    if (credit) await giveWelcome(tx, row, credit.nanoUsd);
    return toBody(row, isHeld);
  });
}

/** Books the credit to begin with, and tells the region. */
async function giveWelcome(
  tx: Tx,
  { workspaceId, region }: Pick<WorkspaceRow, 'workspaceId' | 'region'>,
  nanoUsd: bigint,
): Promise<void> {
  if (nanoUsd === 0n) return;
  const creditId = `welcome_${workspaceId}`;
  const [debit, credit] = ['promo_given', walletOf(workspaceId)];
  await post(tx, creditId, [{ id: creditId, unit: 'nano_usd', debit, credit, amount: nanoUsd, code: 'welcome' }]);
  await tell(tx, region as Region, {
    kind: 'credit',
    credit_id: creditId,
    workspace_id: workspaceId,
    nano_usd: String(nanoUsd),
    note: 'credit to begin with',
  });
}

/** Says whether the user gets the credit to begin with, which is once. */
async function takeWelcome(tx: Tx, userId: string): Promise<boolean> {
  const { count } = await tx.user.updateMany({ where: { userId, welcomedAt: null }, data: { welcomedAt: new Date() } });
  return count === 1;
}

/** Changes what is given of the name and the monthly cap of a workspace, and tells its region. Throws `unknown_workspace`. */
export async function changeWorkspace(
  db: Db,
  { organizationId, userId, workspaceId }: { organizationId: string; userId: string; workspaceId: string },
  { name, monthlyCapNanoUsd }: { name: string | undefined; monthlyCapNanoUsd: bigint | null | undefined },
  origin: Origin,
) {
  const toAudited = (row: WorkspaceRow) => ({
    ...(name !== undefined && { name: row.name }),
    ...(monthlyCapNanoUsd !== undefined && { monthly_cap_nano_usd: toNanoText(row.monthlyCapNanoUsd) }),
  });
  return db.$transaction(async (tx) => {
    await lockOrganization(tx, organizationId);
    const before = await tx.workspace.findUnique({ where: { workspaceId, organizationId } });
    if (!before) throw new ApiError({ kind: 'unknown_workspace' });
    const row = await tx.workspace.update({
      where: { workspaceId },
      data: {
        name: name ?? before.name,
        monthlyCapNanoUsd: monthlyCapNanoUsd === undefined ? before.monthlyCapNanoUsd : monthlyCapNanoUsd,
        version: { increment: 1 },
      },
    });
    await writeAudit(tx, origin, {
      organizationId,
      actor: userId,
      action: 'workspace.changed',
      target: workspaceId,
      before: toAudited(before),
      after: toAudited(row),
    });
    return toBody(row, await tellWorkspace(tx, row));
  });
}

/** Signs a token for the console host of a workspace's region. Throws `unknown_workspace` if it is of another organization. */
export async function createConsoleToken(db: Db, caller: ConsoleCaller, key: SigningKey) {
  const { workspaceId, organizationId } = caller;
  const workspace = await db.workspace.findUnique({ where: { workspaceId, organizationId } });
  if (!workspace) throw new ApiError({ kind: 'unknown_workspace' });
  const region = workspace.region as Region;
  const { token, endsAt } = await signConsoleToken(caller, { region, key, now: new Date() });
  return { token, region, ends_at: endsAt.toISOString() };
}
