import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceError.ts';
import type { Db } from '../database/openDatabases.ts';

/** A key as the operator sees it. */
export interface KeyDetails {
  keyId: string;
  workspaceId: string;
  lastFour: string;
  name: string;
  status: string;
  /** The side that blocked it, of meaning for a blocked key alone. */
  blockedBy: string;
  rpm: number;
  tpm: number;
  maxBudgetNanoUsd: NanoUsd | null;
  /** `day`, `week` or `month`. Null with the budget: there is none of a period. */
  budgetPeriod: string | null;
  periodBudgetNanoUsd: NanoUsd | null;
  /** Catalog ids. Empty: every model. */
  allowedModels: string[];
  expiresAt: Date | null;
  /** The last four characters of its old secret, if it was ever rotated. */
  oldLastFour: string | null;
  oldEndsAt: Date | null;
  /** The key that took its place, where a version before rotated it. */
  replacedBy: string | null;
  createdAt: Date;
}

/** A key by its id, whatever has become of it. Throws `unknown_key`. */
export async function getKeyDetails(db: Pick<Db, 'apiKey'>, keyId: string): Promise<KeyDetails> {
  const key = await db.apiKey.findUnique({ where: { keyId } });
  if (!key) throw new ApiError<AuthServiceFault>({ kind: 'unknown_key' });
  return key;
}

/** The keys of a workspace, or those of which a secret ends in four characters, of whichever workspace. */
type KeyChoice = { workspaceId: string } | { lastFour: string };

/** Some keys in the order of their ids: at most `limit` of those after the given id. */
export function listKeyDetails(
  db: Db,
  choice: KeyChoice,
  { after, limit }: { after: string; limit: number },
): Promise<KeyDetails[]> {
  return db.apiKey.findMany({
    where: { ...toFilter(choice), keyId: { gt: after } },
    orderBy: { keyId: 'asc' },
    take: limit,
  });
}

const toFilter = (choice: KeyChoice) =>
  'lastFour' in choice ? { OR: [choice, { oldLastFour: choice.lastFour }] } : choice;
