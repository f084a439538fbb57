import type { Absorbed } from '../balances/absorb.ts';
import type { Balances } from '../balances/getBalances.ts';

/** A workspace's balances for operators: amounts as decimal strings of nano-dollars. */
export const toBalancesBody = (balances: Balances) => ({
  credited_nano_usd: String(balances.creditedNanoUsd),
  spent_nano_usd: String(balances.spentNanoUsd),
  month_spent_nano_usd: String(balances.monthSpentNanoUsd),
  requests: Number(balances.requests),
  keys: toAmountsBody(balances.spentNanoUsdByKey),
});

/** Sums that Redis takes over. */
export const toAbsorbedBody = ({ timeline, workspaces }: Absorbed) => ({
  timeline,
  workspaces: workspaces.map((workspace) => ({
    workspace_id: workspace.workspaceId,
    seq: workspace.seq,
    left_nano_usd: String(workspace.leftNanoUsd),
    months: toAmountsBody(workspace.spentNanoUsdByMonth),
    keys: toAmountsBody(workspace.spentNanoUsdByKey),
    since: Object.fromEntries(
      [...workspace.sinceByKey].map(([keyId, { day, spentNanoUsd }]) => [
        keyId,
        { day, spent_nano_usd: String(spentNanoUsd) },
      ]),
    ),
    final: workspace.finalCallIds,
    unknown: workspace.unknownCallIds,
    dead_letters: workspace.deadLetterCallIds,
  })),
});

const toAmountsBody = (amounts: Map<string, bigint>): Record<string, string> =>
  Object.fromEntries([...amounts].map(([name, amount]) => [name, String(amount)]));
