import { doesAnswer } from './ledger.ts';
import type { State } from './state.ts';

/** Clears what can no longer matter, so that states with the same future are the same row. */
export function forget(state: State): void {
  const { calls, routers, absorbs, ledger, before, copy, saved, faults, protocol } = state;
  const { rules, kinds } = protocol;
  const isNumbered = protocol.variants.includes('NUMBERED');
  for (const router of routers) {
    if (router.putBack === 'ran' && rules.PUTID && (isNumbered ? rules.NUMBER : rules.PUTONCE)) router.putBack = 'none';
    if (!isNumbered) router.isListOfNewestSession = false;
    if (!router.isOlderUnderWay) {
      router.isOlderOfNewestSession = false;
      router.olderRunning = 0;
      router.olderEnded = 0;
    }
    if (router.putBack !== 'none') continue;
    router.isListOfNewestSession = false;
    router.isPutBackOfOlderProcess = false;
    router.listedRunning = 0;
    router.listedEnded = 0;
  }
  for (const absorb of absorbs) if (absorb.stage === 'none') absorb.clear();
  for (const call of calls)
    if (call.admission === 'none' || call.phase === 'running') {
      call.isAskedInNewestSession = false;
      call.passesRecheck = false;
    }
  for (const call of calls)
    if (call.phase === 'lost' || (call.phase === 'ended' && call.charge === 0)) call.isExcused = false;
  if (doesAnswer(state)) ledger.toReadAgain = 0;
  if (faults.left === 0 || !kinds.includes('failover')) {
    for (const call of calls) call.recordBefore = 'none';
    before.clear();
  }
  if (faults.left === 0 || !kinds.includes('setback')) {
    for (const call of calls) call.recordCopied = 'none';
    copy.clear();
  }
  if (faults.left > 0) return;
  for (const call of calls) {
    call.savedPending = 'none';
    call.isSavedOfNewestSession = false;
  }
  for (const router of routers) router.hadSession = false;
  saved.clear();
}
