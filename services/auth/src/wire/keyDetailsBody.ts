import type { KeyDetailsBody } from '@turnpike/internal-api/auth';
import type { BudgetPeriod } from '@turnpike/internal-api/budgetPeriod';
import type { KeyChange } from '../keys/keyAudit.ts';
import type { KeyDetails } from '../keys/keyDetails.ts';

/** A key as the operator reads it. Nothing in it lets anyone use the key. */
export function toKeyDetailsBody(key: KeyDetails): Required<KeyDetailsBody> {
  return {
    key_id: key.keyId,
    workspace_id: key.workspaceId,
    last_four: key.lastFour,
    name: key.name,
    // The table's checks let no other values in.
    status: key.status as KeyDetailsBody['status'],
    blocked_by: key.status === 'blocked' ? (key.blockedBy as KeyDetailsBody['blocked_by']) : null,
    rpm: key.rpm,
    tpm: key.tpm,
    max_budget_nano_usd: key.maxBudgetNanoUsd?.toString() ?? null,
    period_budget:
      key.budgetPeriod === null || key.periodBudgetNanoUsd === null
        ? null
        : { period: key.budgetPeriod as BudgetPeriod, max_nano_usd: key.periodBudgetNanoUsd.toString() },
    allowed_models: key.allowedModels.length === 0 ? null : key.allowedModels,
    expires_at: key.expiresAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
    old_secret:
      key.oldLastFour !== null && key.oldEndsAt !== null
        ? { last_four: key.oldLastFour, ends_at: key.oldEndsAt.toISOString() }
        : null,
  };
}

/** A change of a key as members and the operator read it. */
export const toKeyChangeBody = ({ changeId, at, keyId, userId, ...change }: KeyChange) => ({
  change_id: changeId,
  at: at.toISOString(),
  key_id: keyId,
  user_id: userId,
  ...change,
});
