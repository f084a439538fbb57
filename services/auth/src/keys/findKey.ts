import type { NamedSecret } from '@turnpike/config/secrets';
import { type KeyRecord, keyRecordSchema } from '@turnpike/internal-api/keyRecord';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthFault } from '@turnpike/public-api/authFault';
import type { Db } from '../database/openDatabases.ts';
import type { Workspace } from '../generated/client.ts';
import { toStoredSecrets } from './storedSecret.ts';

/**
 * The record of the key that has a secret with this SHA-256, looked up under every pepper; none for an unknown, revoked or expired
 * one. It shows the secret that asked: its last four characters, and its end, which for an old one comes before the key's. Throws
 * `auth_unavailable` when the database gives no answer, since no verdict is not a negative one.
 */
export async function findKey(
  db: Db,
  { keySha256, peppers }: { keySha256: string; peppers: NamedSecret[] },
): Promise<KeyRecord | undefined> {
  const storedHashes = toStoredSecrets(keySha256, peppers).map(({ storedHash }) => storedHash);
  const hashes = { in: storedHashes };
  const toFault = (error: unknown): never => {
    throw new ApiError<AuthFault>({ kind: 'auth_unavailable' }, { cause: error });
  };
  const key = await db.apiKey
    .findFirst({ where: { OR: [{ storedHash: hashes }, { oldStoredHash: hashes }] }, include: { workspace: true } })
    .catch(toFault);
  if (!key || key.status === 'revoked') return undefined;
  const { storedHash, lastFour, expiresAt, oldLastFour, oldEndsAt } = key;
  const isOld = !storedHashes.includes(storedHash);
  const endsAt = isOld ? oldEndsAt : expiresAt;
  const expiresInMs = endsAt ? await readTimeUntil(db, endsAt).catch(toFault) : undefined;
  if (expiresInMs !== undefined && expiresInMs <= 0) return undefined;
  const { workspace } = key;
  return keyRecordSchema.parse({
    keyId: key.keyId,
    lastFour: isOld ? oldLastFour : lastFour,
    generation: key.generation + workspace.version,
    isBlocked: key.status === 'blocked',
    expiresAt: endsAt?.toISOString() ?? null,
    expiresInMs,
    rpm: key.rpm,
    tpm: key.tpm,
    maxBudgetNanoUsd: key.maxBudgetNanoUsd?.toString() ?? null,
    periodBudget:
      key.periodBudgetNanoUsd === null
        ? null
        : { period: key.budgetPeriod, maxNanoUsd: key.periodBudgetNanoUsd.toString() },
    allowedModels: key.allowedModels.length === 0 ? null : key.allowedModels,
    workspace: {
      workspaceId: workspace.workspaceId,
      region: workspace.region,
      billingStatus: toStricterStatus(workspace),
      monthlyCapNanoUsd: toLowerCap(workspace)?.toString() ?? null,
    },
  });
}

/** The statuses of a workspace, the strictest first: an account that was never set up for billing has nothing to release. */
const STRICTEST_FIRST = ['not_provisioned', 'on_hold', 'active'];

const toStricterStatus = ({ billingStatus, accountStatus }: Workspace) =>
  STRICTEST_FIRST.find((status) => status === billingStatus || status === accountStatus);

/** Returns the lower of the operator's cap and the account layer's. Null is no cap. */
export function toLowerCap({
  monthlyCapNanoUsd: own,
  accountCapNanoUsd: account,
}: Pick<Workspace, 'monthlyCapNanoUsd' | 'accountCapNanoUsd'>): bigint | null {
  if (own === null || account === null) return own ?? account;
  return own < account ? own : account;
}

/** Returns the time by the database's clock, which ends keys and their old secrets. */
export async function readNow(db: Db): Promise<Date> {
  const [row] = await db.query(sql<{ now: Date }>`SELECT now()`);
  if (!row) throw new Error('the database told no time');
  return row.now;
}

/** Time until an instant by the database's clock, ms. */
async function readTimeUntil(db: Db, instant: Date): Promise<number> {
  const [row] = await db.query(sql<{ leftMs: number }>`
    SELECT (extract(epoch FROM ${instant}::timestamptz - now()) * 1000)::float8 AS "leftMs"`);
  return row?.leftMs ?? 0;
}
