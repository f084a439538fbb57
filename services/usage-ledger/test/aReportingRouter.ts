import { randomUUID } from 'node:crypto';
import type { EventLogConsumer } from '@turnpike/event-log/eventLog';
import { getBalances } from '../src/credits/getBalances.ts';
import type { Db } from '../src/database/createDb.ts';
import { areBalancesReady } from '../src/epoch/areBalancesReady.ts';
import { type EpochAnswer, reportRouter } from '../src/epoch/reportRouter.ts';

/** The only router there is, as the ledger sees it: one that has calls, and loads a workspace's balances once an epoch. */
export async function aReportingRouter(
  db: Db,
  { lag, workspaceId }: { lag: () => Promise<bigint>; workspaceId: string },
) {
  const consumer: Pick<EventLogConsumer, 'lag'> = { lag };
  await db.router.deleteMany();
  let redisId = randomUUID();
  let answer: EpochAnswer | undefined;
  const done = { drainedEpoch: null as number | null, assertedEpoch: null as number | null };
  let spentNanoUsd = 0n;

  /** Does what it was told, and reports it: alone, it moves the epoch on by a phase. */
  async function step(): Promise<EpochAnswer> {
    const { number, phase } = answer ?? (await db.redisEpoch.findFirstOrThrow());
    if (phase === 'draining') done.drainedEpoch = number;
    if (phase === 'asserting' && done.assertedEpoch !== number && (await areBalancesReady(db, number))) {
      ({ spentNanoUsd } = await getBalances(db, { workspaceId, month: '2026-01' }));
      done.assertedEpoch = number;
    }
    const said = { routerId: 'r1', processId: 'r1-1', redisId, isBlank: false, missesCalls: false };
    answer = await reportRouter({ db, consumer }, { ...said, ...done, knownEpoch: number });
    return answer;
  }
  return {
    step,
    /** What it counts from: spent by the workspace, as it stood in the balances. */
    get spentNanoUsd() {
      return spentNanoUsd;
    },
    loseRedis() {
      redisId = randomUUID();
    },
    /** Goes on until the epoch is in this phase. */
    async reach(phase: EpochAnswer['phase']): Promise<EpochAnswer> {
      for (let steps = 0; steps < 10; steps += 1) {
        const reached = await step();
        if (reached.phase === phase) return reached;
      }
      throw new Error(`the epoch does not become ${phase}`);
    },
  };
}
