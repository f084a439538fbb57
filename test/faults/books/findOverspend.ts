import type { Evidence } from './evidence.ts';
import type { ProblemList } from './problemList.ts';

/** The gate's instants and the router's are cut to whole milliseconds each. */
const ROUNDING_MS = 2;

/**
 * Finds the instants at which a workspace was overspent, from the engines' log and the rows alone, without Redis. A workspace is
 * overspent if the worst cases of its running calls plus its earlier charges exceed the credit of that instant.
 */
export function findOverspend(
  { rows, served, credits }: Pick<Evidence, 'rows' | 'served' | 'credits'>,
  problems: ProblemList,
): void {
  const firstSeen = new Map<string, number>();
  for (const { requestId, receivedAt } of served) {
    const callId = requestId.slice(0, 36);
    firstSeen.set(callId, Math.min(receivedAt, firstSeen.get(callId) ?? receivedAt));
  }
  /** Movements of the credit, by their instant. */
  const moves = new Map<string, { atMs: number; amount: bigint }[]>();
  const move = (workspaceId: string, atMs: number, amount: bigint): void => {
    const known = moves.get(workspaceId);
    if (known) known.push({ atMs, amount });
    else moves.set(workspaceId, [{ atMs, amount }]);
  };
  for (const { workspaceId, amount, atMs } of credits) move(workspaceId, atMs, -amount);
  for (const { callId, workspaceId, hold, charge, startedAtMs, endedAtMs } of rows) {
    const beganAt = Math.min(startedAtMs, firstSeen.get(callId) ?? startedAtMs);
    move(workspaceId, beganAt, hold);
    move(workspaceId, Math.max(endedAtMs - ROUNDING_MS, beganAt), charge - hold);
  }
  for (const [workspaceId, ofWorkspace] of moves) {
    let committed = 0n;
    let worst = 0n;
    // Credits come first within one instant, because its order is unknown.
    for (const { amount } of ofWorkspace.sort((a, b) => a.atMs - b.atMs || Number(a.amount - b.amount))) {
      committed += amount;
      if (committed > worst) worst = committed;
    }
    if (worst > 0n)
      problems.add('more was under way and charged than was credited', `${workspaceId}: ${worst} beyond it`);
  }
}
