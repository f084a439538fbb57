import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Headroom } from '../console.ts';
import { formatCount } from '../formatCount.ts';
import { Moment, Usd } from '../shell/states.tsx';

const FULL = 1_000n;
/** Part of a limit in thousandths from which on the meter warns. */
const HIGH = 800;

/** The use of a limit, in words and as a meter. */
export function Use({
  label,
  used,
  limit,
  children,
}: {
  label: string;
  used: bigint;
  limit: bigint;
  children: ReactNode;
}) {
  const part = used >= limit ? FULL : (used * FULL) / limit;
  return (
    <Stack gap={2}>
      <Text size="sm">{children}</Text>
      <meter aria-label={label} className="use" max={Number(FULL)} high={HIGH} optimum={0} value={Number(part)} />
    </Stack>
  );
}

/** The use of a limit in requests or tokens a minute. It is undefined until it is read, and null if the gate does not show it. */
export function UsedRate({ label, used, limit }: { label: string; used: number | null | undefined; limit: number }) {
  if (used === undefined) return <Text size="sm">Limit: {formatCount(limit)}</Text>;
  if (used === null) return <Text size="sm">Limit: {formatCount(limit)}. Its use is not known now.</Text>;
  return (
    <Use label={label} used={BigInt(used)} limit={BigInt(limit)}>
      {formatCount(used)} of {formatCount(limit)}
    </Use>
  );
}

/** The spend of a key in its period beside the budget of that. */
export function UsedPeriod({ budget }: { budget: NonNullable<Headroom['period_budget']> }) {
  const [spent, most] = [BigInt(budget.spend_nano_usd ?? 0), BigInt(budget.max_nano_usd)];
  return (
    <Use label={`Budget of the ${budget.period}`} used={spent} limit={most}>
      <Usd nano={spent} /> of <Usd nano={most} /> spent in this {budget.period}, which ends{' '}
      <Moment at={budget.resets_at} />
    </Use>
  );
}

/** The spend of a key beside its budget. Calls in progress hold a part of it. */
export function UsedBudget({ headroom }: { headroom: Headroom }) {
  const [spent, held] = [BigInt(headroom.spend_nano_usd), BigInt(headroom.held_nano_usd)];
  if (headroom.max_budget_nano_usd === null)
    return (
      <Text size="sm">
        <Usd nano={spent} /> spent, no budget
      </Text>
    );
  const budget = BigInt(headroom.max_budget_nano_usd);
  const left = budget - spent - held;
  return (
    <Use label="Budget" used={spent + held} limit={budget}>
      <Usd nano={spent} /> of <Usd nano={budget} /> spent, <Usd nano={held} /> held,{' '}
      <Usd nano={left > 0n ? left : 0n} /> left
    </Use>
  );
}
