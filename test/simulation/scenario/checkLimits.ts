import { Violation } from '../world/violation.ts';
import type { LedgerOfTruth, TrueCall } from './ledgerOfTruth.ts';
import type { Stack } from './stack.ts';

/** Something that limits what some calls may cost together. */
export interface Limit {
  name: string;
  atMost: bigint;
}

/** The limits that a call counts against: its workspace's credit, its key's budget, its month's cap. */
function limitsOf({ creditedByWorkspace, budgetByKey, capByWorkspace }: LedgerOfTruth, call: TrueCall): Limit[] {
  const { workspaceId, keyId, month } = call;
  const [budget, cap] = [budgetByKey.get(keyId), capByWorkspace.get(workspaceId)];
  return [
    { name: `credit of ${workspaceId}`, atMost: creditedByWorkspace.get(workspaceId) ?? 0n },
    ...(budget === undefined ? [] : [{ name: `budget of ${keyId}`, atMost: budget }]),
    ...(cap === undefined || month === undefined ? [] : [{ name: `cap of ${workspaceId} in ${month}`, atMost: cap }]),
  ];
}

/**
 * What calls truly cost and may yet cost is within the credit of their workspace, the budget of their key and the cap of their
 * month. To be asked when a call was let in: nothing else makes it more.
 */
export function checkCommitments(stack: Stack): void {
  const { truth } = stack;
  checkSums(truth, (call) => {
    if (call.isExcused || call.holdNanoUsd === undefined) return 0n;
    // Disk and Redis lost together: nobody is left who knows of the call.
    if (truth.hasNoDisk(call) && truth.has('redis', call)) return 0n;
    if (call.ending) return call.chargeNanoUsd;
    return stack.isAlive(call) ? call.holdNanoUsd : 0n;
  });
}

/** At the end: what was charged is within the same limits, but for calls whose holds somebody else could be given. */
export function checkCharges({ truth, database }: Stack): void {
  checkSums(truth, (call) =>
    call.wasExcused ? 0n : (database.tables.usageRequests.get(call.callId)?.chargeNanoUsd ?? 0n),
  );
}

function checkSums(truth: LedgerOfTruth, amountOf: (call: TrueCall) => bigint): void {
  const sums = new Map<string, bigint>();
  for (const call of truth.calls.values()) {
    const amount = amountOf(call);
    if (amount === 0n) continue;
    for (const { name, atMost } of limitsOf(truth, call)) {
      const sum = (sums.get(name) ?? 0n) + amount;
      if (sum > atMost) throw new Violation(`${name} is ${atMost}, and calls have ${sum} of it`);
      sums.set(name, sum);
    }
  }
}
