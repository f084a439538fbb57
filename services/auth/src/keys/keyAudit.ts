import { isDeepStrictEqual } from 'node:util';
import type { ConsoleCaller } from '@turnpike/internal-auth/consoleToken';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/openDatabases.ts';
import type { ApiKey, Prisma } from '../generated/client.ts';

/** The operator, or a member at the console, who changes the keys of one workspace alone. */
export type Changer = 'operator' | ConsoleCaller;
export type KeyAction = 'create' | 'update' | 'rotate' | 'end_old_secret' | 'block' | 'unblock' | 'revoke';

const PAGE = 100;

/** The fields of a key that its audit shows. None of them lets anyone use the key. */
const FIELDS = {
  name: 'name',
  status: 'status',
  rpm: 'rpm',
  tpm: 'tpm',
  max_budget_nano_usd: 'maxBudgetNanoUsd',
  budget_period: 'budgetPeriod',
  period_budget_nano_usd: 'periodBudgetNanoUsd',
  allowed_models: 'allowedModels',
  expires_at: 'expiresAt',
  last_four: 'lastFour',
  old_secret_ends_at: 'oldEndsAt',
} as const satisfies Record<string, keyof ApiKey>;

/** Writes what a member changed of a key, in the transaction of the change. The operator's changes are in the log alone. */
export async function writeKeyChange(
  tx: Prisma.TransactionClient,
  { by, action, before, after }: { by: Changer; action: KeyAction; before?: ApiKey; after: ApiKey },
): Promise<void> {
  if (by === 'operator') return;
  const changed = Object.entries(FIELDS).filter(([, column]) => !isDeepStrictEqual(before?.[column], after[column]));
  const toJson = (key: ApiKey) =>
    JSON.stringify(Object.fromEntries(changed.map(([field, column]) => [field, key[column]])), (_, value) =>
      typeof value === 'bigint' ? String(value) : value,
    );
  await tx.$executeRaw(sql`
    INSERT INTO key_change (workspace_id, key_id, user_id, role, action, before, after)
    VALUES (${after.workspaceId}, ${after.keyId}, ${by.userId}, ${by.role}, ${action},
      ${before ? toJson(before) : null}::jsonb, ${toJson(after)}::jsonb)`);
}

/** A change of a key by a member. */
export interface KeyChange {
  changeId: string;
  at: Date;
  keyId: string;
  userId: string;
  role: string;
  action: string;
  before: unknown;
  after: unknown;
}

/** A page of the changes of a workspace's keys, or of one of them, the newest first. `next` is what to ask for as `before`, null on the last page. */
export async function listKeyChanges(
  db: Db,
  { workspaceId, keyId, before }: { workspaceId: string; keyId: string | undefined; before: string | undefined },
): Promise<{ changes: KeyChange[]; next: string | null }> {
  const rows = await db.query(sql<KeyChange>`
    SELECT change_id::text AS "changeId", at, key_id AS "keyId", user_id AS "userId", role, action, before, after
    FROM key_change
    WHERE workspace_id = ${workspaceId} AND key_id = coalesce(${keyId ?? null}, key_id)
      AND change_id < coalesce(${before ?? null}::bigint, 9223372036854775807)
    ORDER BY key_change.change_id DESC LIMIT ${PAGE + 1}`);
  const changes = rows.slice(0, PAGE);
  return { changes, next: rows.length > PAGE ? (changes.at(-1)?.changeId ?? null) : null };
}
