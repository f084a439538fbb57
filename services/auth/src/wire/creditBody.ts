import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
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

/** The rest of a key's own budgets: the smaller one. */
export function toBudgetBody(
  spend: { spentNanoUsd: NanoUsd; heldNanoUsd: NanoUsd; periodSpentNanoUsd: NanoUsd | null },
  { maxBudgetNanoUsd, periodBudget }: Pick<KeyRecord, 'maxBudgetNanoUsd' | 'periodBudget'>,
): Body {
  const rests = [
    maxBudgetNanoUsd === null ? [] : maxBudgetNanoUsd - spend.spentNanoUsd,
    periodBudget === null ? [] : periodBudget.maxNanoUsd - (spend.periodSpentNanoUsd ?? 0n),
  ].flat();
  const least = rests.reduce((some, other) => (other < some ? other : some));
  return {
    object: 'credit',
    currency: 'USD',
    scope: 'key_budget',
    credit_usd: toUsdNumber(least < 0n ? 0n : least),
    held_usd: toUsdNumber(spend.heldNanoUsd),
    month_spend_usd: null,
    monthly_cap_usd: null,
  };
}
