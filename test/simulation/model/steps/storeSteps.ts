import { commit, copyDisk, failOver, setBack } from '../ledger.ts';
import { isReady, loseRedis, passBarrier, saveRedis } from '../redis.ts';
import type { Turn } from './turn.ts';

/** Events of Redis and of the ledger. */
export function storeSteps({ from, to, step, fault }: Turn): void {
  const { rules, kinds, hasCredits } = from.protocol;
  if (!from.redis.isBarrierPassed && from.routers.some(({ hasSession, hasToPutBack }) => hasSession && !hasToPutBack)) {
    const isWaiting = from.routers.some((router) => router.isUp && !isReady(router));
    if (!isWaiting) step('barrier: every live router has put back', () => passBarrier(to));
    else if (rules.BARRIER)
      fault('laggard', 'barrier: the deadline passes, and fences who has not put back', () => passBarrier(to));
    else
      step('the gate opens without a barrier', () => {
        to.redis.isBarrierPassed = true;
      });
  }
  fault('lost', 'Redis comes back empty', () => loseRedis(to, 'empty'));
  if (kinds.includes('restored') && from.faults.left > 0 && !from.saved.exists)
    step('Redis saves its state', () => saveRedis(to));
  if (from.saved.exists) fault('restored', 'Redis comes back as it was saved', () => loseRedis(to, 'saved'));
  if (from.before.exists) fault('failover', 'the ledger fails over and loses its last commit', () => failOver(to));
  if (kinds.includes('setback') && from.faults.left > 0 && !from.copy.exists)
    step("a snapshot is made of the ledger's disk", () => copyDisk(to));
  if (from.copy.exists) fault('setback', "the ledger's disk is set back to the snapshot", () => setBack(to));
  if (hasCredits && !from.ledger.hasCreditUp)
    step('the ledger gives 1', () =>
      commit(to, true, () => {
        to.ledger.hasCreditUp = true;
      }),
    );
  if (hasCredits && !from.ledger.hasCreditDown)
    step('the ledger takes 1', () =>
      commit(to, true, () => {
        to.ledger.hasCreditDown = true;
      }),
    );
}
