import { type NanoUsd, toUsdNumber } from '@turnpike/money/nanoUsd';
import type { CreditInformation } from '@turnpike/public-api/creditInformation';

type Body = Omit<CreditInformation, 'generated_at'>;

/** The balance of a workspace, shown to its keys without a budget. */
export const toCreditBody = (
  credit: { creditNanoUsd: NanoUsd; heldNanoUsd: NanoUsd; monthSpentNanoUsd: NanoUsd },
  { monthlyCapNanoUsd }: { monthlyCapNanoUsd: NanoUsd | null },
): Body => ({
  object: 'credit',
  currency: 'USD',
  scope: 'workspace',
  credit_usd: toUsdNumber(credit.creditNanoUsd),
  held_usd: toUsdNumber(credit.heldNanoUsd),
  month_spend_usd: toUsdNumber(credit.monthSpentNanoUsd),
  monthly_cap_usd: monthlyCapNanoUsd === null ? null : toUsdNumber(monthlyCapNanoUsd),
});

/** The rest of a key's own budget. */
export const toBudgetBody = (
  { spentNanoUsd, heldNanoUsd }: { spentNanoUsd: NanoUsd; heldNanoUsd: NanoUsd },
  maxBudgetNanoUsd: NanoUsd,
): Body => ({
  object: 'credit',
  currency: 'USD',
  scope: 'key_budget',
  credit_usd: toUsdNumber(spentNanoUsd < maxBudgetNanoUsd ? maxBudgetNanoUsd - spentNanoUsd : 0n),
  held_usd: toUsdNumber(heldNanoUsd),
  month_spend_usd: null,
  monthly_cap_usd: null,
});
