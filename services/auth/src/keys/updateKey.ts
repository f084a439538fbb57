import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceError.ts';
import type { Db } from '../database/openDatabases.ts';
import type { ApiKey } from '../generated/client.ts';
import { changeKey } from './changeKey.ts';
import type { Changer } from './keyAudit.ts';

/** New values of a key's fields. An absent field stays as it is. Null removes a budget or an expiry. */
export type KeyUpdate = Partial<
  Pick<
    ApiKey,
    'name' | 'rpm' | 'tpm' | 'maxBudgetNanoUsd' | 'budgetPeriod' | 'periodBudgetNanoUsd' | 'allowedModels' | 'expiresAt'
  >
>;

/** Sets fields of a key. An expiry ends its old secret too, if that ended later. Throws `unknown_key` and `key_revoked`. */
export const updateKey = (db: Db, { keyId, by, update }: { keyId: string; by: Changer; update: KeyUpdate }) =>
  changeKey(db, { keyId, by, action: 'update' }, async ({ status, oldEndsAt }) => {
    if (status === 'revoked') throw new ApiError<AuthServiceFault>({ kind: 'key_revoked' });
    const { expiresAt } = update;
    return { ...update, ...(expiresAt && oldEndsAt && expiresAt < oldEndsAt && { oldEndsAt: expiresAt }) };
  });
