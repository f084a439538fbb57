import type { KeyUpdate } from '../keys/updateKey.ts';

interface KeyUpdateBody {
  name?: string | undefined;
  rpm?: number | undefined;
  tpm?: number | undefined;
  max_budget_nano_usd?: bigint | null | undefined;
  period_budget?: { period: string; max_nano_usd: bigint } | null | undefined;
  allowed_models?: string[] | null | undefined;
  expires_at?: string | null | undefined;
}

/** Returns the new values of the fields that a body names. */
export function toKeyUpdate({
  name,
  rpm,
  tpm,
  max_budget_nano_usd: maxBudgetNanoUsd,
  period_budget: periodBudget,
  allowed_models: allowedModels,
  expires_at: expiresAt,
}: KeyUpdateBody): KeyUpdate {
  return {
    ...(name !== undefined && { name }),
    ...(rpm !== undefined && { rpm }),
    ...(tpm !== undefined && { tpm }),
    ...(maxBudgetNanoUsd !== undefined && { maxBudgetNanoUsd }),
    ...(periodBudget !== undefined && {
      budgetPeriod: periodBudget?.period ?? null,
      periodBudgetNanoUsd: periodBudget?.max_nano_usd ?? null,
    }),
    ...(allowedModels !== undefined && { allowedModels: allowedModels ?? [] }),
    ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : new Date(expiresAt) }),
  };
}
