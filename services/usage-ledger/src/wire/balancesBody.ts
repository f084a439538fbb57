import type { Balances } from '../credits/getBalances.ts';

/** A workspace's balances for the fleet: amounts as decimal strings of nano-dollars. */
export function toBalancesBody(balances: Balances) {
  return {
    credit_seq: Number(balances.creditSeq),
    credited_nano_usd: String(balances.creditedNanoUsd),
    spent_nano_usd: String(balances.spentNanoUsd),
    month_spent_nano_usd: String(balances.monthSpentNanoUsd),
    requests: Number(balances.requests),
    keys: Object.fromEntries([...balances.spentNanoUsdByKey].map(([keyId, spent]) => [keyId, String(spent)])),
  };
}
