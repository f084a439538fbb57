import { randomUUID } from 'node:crypto';
import type { NamedSecret } from '@turnpike/config/secrets';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceError.ts';
import type { Db } from '../database/openDatabases.ts';
import type { Prisma } from '../generated/client.ts';
import { CHANGE_LIMITS } from './changeKey.ts';
import { type Changer, writeKeyChange } from './keyAudit.ts';
import { storeSecret, toStoreFault } from './storedSecret.ts';

/** Keys of a workspace within a day, from which on members make none. Redis keeps each changed key for 40 days. */
const MOST_A_DAY = 1_000;

/** A key as whoever made it registers it: its hash and last four characters, never the key. */
export interface NewKey {
  by: Changer;
  keySha256: string;
  lastFour: string;
  name: string;
  workspaceId: string;
  rpm: number;
  tpm: number;
  maxBudgetNanoUsd: NanoUsd | null;
  /** `day`, `week` or `month`. Null with the budget: there is none of a period. */
  budgetPeriod: string | null;
  periodBudgetNanoUsd: NanoUsd | null;
  /** Catalog ids. Empty: every model. */
  allowedModels: string[];
  expiresAt: Date | null;
}

/**
 * Registers a key under the first pepper and returns its id. Throws `key_already_registered`, `workspace_not_found`, and `too_many_keys`
 * for a member whose workspace got 1,000 keys within a day.
 */
export async function registerKey(
  db: Db,
  { by, keySha256, ...rest }: NewKey,
  { peppers }: { peppers: NamedSecret[] },
): Promise<{ keyId: string }> {
  const keyId = `key_${randomUUID().replaceAll('-', '')}`;
  await db
    .$transaction(async (tx) => {
      if (by !== 'operator') await refuseTooMany(tx, rest.workspaceId);
      const secret = await storeSecret(tx, { keySha256, peppers });
      const after = await tx.apiKey.create({ data: { keyId, ...secret, ...rest } });
      await writeKeyChange(tx, { by, action: 'create', after });
    }, CHANGE_LIMITS)
    .catch((error: unknown) => {
      throw toStoreFault(error);
    });
  return { keyId };
}

/** Refuses a further key of a workspace that got 1,000 within a day. The lock has members of one workspace take turns. */
async function refuseTooMany(tx: Prisma.TransactionClient, workspaceId: string): Promise<void> {
  await tx.$queryRaw(sql`SELECT 1 AS one FROM workspace WHERE workspace_id = ${workspaceId} FOR NO KEY UPDATE`);
  const [made] = await tx.$queryRaw<{ keys: bigint }[]>(sql`
    SELECT count(*) AS keys FROM api_key
    WHERE workspace_id = ${workspaceId} AND created_at > now() - interval '24 hours'`);
  if (Number(made?.keys) >= MOST_A_DAY) throw new ApiError<AuthServiceFault>({ kind: 'too_many_keys' });
}
