export type AlertKind = 'budget' | 'cap' | 'balance';

/** A threshold that a workspace has reached. */
export interface Reached {
  kind: AlertKind;
  /** The part of the budget or the cap. 0 for a balance. */
  percent: number;
  /** The budget, the cap, or the balance below which one is alerted. */
  limitNanoUsd: bigint;
  /** The spend of the month, or the balance. */
  valueNanoUsd: bigint;
  /** A threshold is reached once in it: a month (UTC), or for a balance the time until the next credit. */
  period: string;
}

/** A workspace as its region reported it, with its limits. Null: there is no such limit. */
export interface Measured {
  /** Spend by month, `YYYY-MM`. */
  spends: readonly { month: string; nanoUsd: bigint }[];
  /** Times that the wallet was credited. The sum of the credits may be an earlier one again, after a refund or a dispute. */
  credits: number;
  balanceNanoUsd: bigint;
  budgetNanoUsd: bigint | null;
  capNanoUsd: bigint | null;
  balanceBelowNanoUsd: bigint | null;
}

const PERCENTS = [50, 80, 100];

/** Lists the thresholds that a workspace has reached. A limit of 0 has none, because no call is let through at all. */
export function listReached(measured: Measured): Reached[] {
  const { spends, balanceNanoUsd: balance, balanceBelowNanoUsd: below } = measured;
  const ofSpend = (kind: AlertKind, limit: bigint | null): Reached[] =>
    limit === null || limit === 0n
      ? []
      : spends.flatMap(({ month: period, nanoUsd: spent }) =>
          PERCENTS.filter((percent) => spent * 100n >= limit * BigInt(percent)).map((percent) => ({
            ...{ kind, percent, limitNanoUsd: limit, valueNanoUsd: spent, period },
          })),
        );
  const ofBalance: Reached[] =
    below !== null && balance < below
      ? [
          {
            ...{ kind: 'balance', percent: 0, limitNanoUsd: below, valueNanoUsd: balance },
            // A balance rises by credits alone.
            period: `credits ${measured.credits}`,
          },
        ]
      : [];
  return [...ofSpend('budget', measured.budgetNanoUsd), ...ofSpend('cap', measured.capNanoUsd), ...ofBalance];
}
