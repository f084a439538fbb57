import type { BalanceLoader } from '../balances/loadBalances.ts';
import type { HeldCall, HeldCalls } from '../call/heldCalls.ts';
import type { EpochStamp } from '../redis/redisEpoch.ts';
import type { createAssertCall } from './assertCall.ts';

export interface PutBackDependencies {
  heldCalls: HeldCalls;
  balances: Pick<BalanceLoader, 'loadFor'>;
  assertCall: ReturnType<typeof createAssertCall>;
}

/** Workspaces whose balances are brought at once, and calls of one that are asserted at once. */
const WORKSPACES_AT_ONCE = 8;
const CALLS_AT_ONCE = 50;

/**
 * Gives every call of this router its hold back, in the balances of an epoch that is being built. Rejects where one could not
 * be given back; the others keep theirs, and to do it all again changes nothing for them.
 */
export async function putBackHolds(
  { heldCalls, balances, assertCall }: PutBackDependencies,
  stamp: EpochStamp,
): Promise<void> {
  const workspaces = Map.groupBy(heldCalls.list(), ({ call }) => call.workspaceId);
  for (const some of inGroups([...workspaces], WORKSPACES_AT_ONCE))
    await Promise.all(some.map(([workspaceId, held]) => putBack(workspaceId, held)));

  async function putBack(workspaceId: string, held: HeldCall[]): Promise<void> {
    const callIds = held.map(({ call }) => call.callId);
    const rows = await balances.loadFor(workspaceId, stamp, callIds);
    for (const some of inGroups(held, CALLS_AT_ONCE))
      await Promise.all(some.map((one) => assertCall(one, stamp, rows)));
  }
}

function* inGroups<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
