import type { Balances } from '../credits/getBalances.ts';

const toSumsBody = (balances: Balances) => ({
  credit_seq: Number(balances.creditSeq),
  credited_nano_usd: String(balances.creditedNanoUsd),
  spent_nano_usd: String(balances.spentNanoUsd),
  requests: Number(balances.requests),
  keys: toAmountsBody(balances.spentNanoUsdByKey),
});

/** A workspace's balances for operators: amounts as decimal strings of nano-dollars. */
export const toBalancesBody = (balances: Balances, { month }: { month: string }) => ({
  ...toSumsBody(balances),
  month_spent_nano_usd: String(balances.spentNanoUsdByMonth.get(month) ?? 0n),
});

/** A workspace's balances for the gate, which goes on counting from them. */
export const toGateBalancesBody = (balances: Balances) => ({
  ...toSumsBody(balances),
  months: toAmountsBody(balances.spentNanoUsdByMonth),
  recorded: balances.recordedCallIds,
});

const toAmountsBody = (amounts: Map<string, bigint>): Record<string, string> =>
  Object.fromEntries([...amounts].map(([name, amount]) => [name, String(amount)]));
