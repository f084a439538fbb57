import { toMaskedKey } from '@turnpike/api-keys/apiKey';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { type NanoUsd, toUsdNumber } from '@turnpike/money/nanoUsd';
import type { KeyInformation } from '@turnpike/public-api/keyInformation';

type ShownKey = Pick<KeyRecord, 'lastFour' | 'maxBudgetNanoUsd' | 'rpm' | 'tpm' | 'expiresAt'>;

/** Makes the body of an answer to `GET /v1/svc/key`. */
export function toKeyInformationBody(key: ShownKey, { spend, now }: { spend: NanoUsd; now: Date }): KeyInformation {
  const { maxBudgetNanoUsd: maxBudget, lastFour, rpm, tpm, expiresAt } = key;
  return {
    object: 'key',
    currency: 'USD',
    key_name: toMaskedKey(lastFour),
    spend_usd: toUsdNumber(spend),
    max_budget_usd: maxBudget === null ? null : toUsdNumber(maxBudget),
    remaining_budget_usd: maxBudget === null ? null : toUsdNumber(spend < maxBudget ? maxBudget - spend : 0n),
    rate_limit: { rpm, tpm },
    expires_at: expiresAt,
    generated_at: now.toISOString(),
  };
}
