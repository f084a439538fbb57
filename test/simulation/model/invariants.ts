import { doesAnswer, readSnapshot, recordCall, sumsOf } from './ledger.ts';
import { WORST } from './protocol.ts';
import { beginSession, finishPutBack, listCalls, putBack, putBackAlone, putBackNumbered } from './putBack.ts';
import {
  absorb,
  availableOf,
  callsToAsk,
  hasLiveSession,
  isGateOpen,
  isReady,
  lapsedCalls,
  leftOf,
  passBarrier,
  pendingAmountOf,
  release,
} from './redis.ts';
import { type Call, isIn, type Router, State } from './state.ts';

/** The invariants, by what they promise. */
export type Invariant =
  /** While the gate is open, each call is pending with what it may cost or cost, or is in the sums. */
  | 'covered'
  /** A charge is in a spool, in the log or in the ledger until it is recorded. */
  | 'recorded'
  /** Once faults end, nothing stays pending, and Redis has the ledger's sums. */
  | 'exact'
  /** Once faults end, the gate opens and every call gets its row. */
  | 'live';

export interface Broken {
  invariant: Invariant;
  what: string;
}

/** Creates the check of a state: its faults now, or once no faults happen any more. */
export function createInvariants(state: State): { find(): Broken | undefined; findAtOnce(): Broken | undefined } {
  const ahead = new State(state.protocol);
  function findAhead(gone?: number): Broken | undefined {
    ahead.words.set(state.words);
    return findOnceQuiet(ahead, gone);
  }
  return {
    findAtOnce: () => findNow(state),
    find: () =>
      findNow(state) ?? (state.protocol.isSafetyAlone ? undefined : (findAhead() ?? findAhead(0) ?? findAhead(1))),
  };
}

function findNow(state: State): Broken | undefined {
  const { isStrict } = state.protocol;
  const isOpen = isGateOpen(state);
  for (const call of state.calls) {
    if (isOpen && (isStrict || !call.isExcused) && !isCovered(state, call))
      return {
        invariant: 'covered',
        what: `the gate offers ${availableOf(state)}, but c${call.index} (${call.phase}, ${costOf(call)}) is neither pending with that much nor in the sums`,
      };
    if (call.phase === 'ended' && call.record !== 'final' && !call.isSpooled && !call.isFinalSent)
      return { invariant: 'recorded', what: `the charge of c${call.index} is in no spool, no log and no ledger` };
  }
  return undefined;
}

/** Returns the cost of a call, or its possible cost. */
function costOf({ phase, charge }: Call): number {
  if (phase === 'running') return WORST;
  return phase === 'ended' ? charge : 0;
}

/** Per call, which is stronger than for the sum. */
function isCovered({ redis }: State, call: Call): boolean {
  const cost = costOf(call);
  return cost === 0 || pendingAmountOf(call) >= cost || (call.phase === 'ended' && isIn(redis.sums, call));
}

/** Runs what the routers do anyway until it changes nothing, without faults. `gone` is a router that never comes back. */
function findOnceQuiet(state: State, gone?: number): Broken | undefined {
  if (gone !== undefined && state.router(gone).isUp) return undefined;
  for (let round = 0; round < 3; round += 1) runRound(state, gone);
  const isEndedSwept = state.protocol.variants.includes('ENDED_SWEPT');
  const without = gone === undefined ? '' : ` without R${gone + 1}`;
  for (const call of state.calls) {
    const isOfGone = call.owner === gone;
    // A call that a router has ended is known to its disk alone.
    if (call.pending !== 'none' && !(call.pending === 'ended' && isOfGone && !isEndedSwept))
      return { invariant: 'exact', what: `c${call.index} stays pending with ${pendingAmountOf(call)}${without}` };
    if (call.phase === 'ended' && call.record !== 'final' && !isOfGone)
      return { invariant: 'live', what: `the charge of c${call.index} is never recorded${without}` };
    if (call.phase === 'lost' && call.record === 'none' && !state.faults.wasRedisLost)
      return { invariant: 'live', what: `c${call.index} never gets a row${without}` };
  }
  if (!isGateOpen(state)) return { invariant: 'live', what: `the gate never opens${without}` };
  if (state.redis.sums === sumsOf(state)) return undefined;
  return { invariant: 'exact', what: `Redis stays at ${leftOf(state)} left, which is not what the ledger says` };
}

function runRound(state: State, gone: number | undefined): void {
  const { rules, variants } = state.protocol;
  const isEndedSwept = variants.includes('ENDED_SWEPT');
  const alive: Router[] = [];
  for (const router of state.routers) {
    if (router.index === gone) {
      router.hasSession = false;
      continue;
    }
    alive.push(router);
    if (!router.isUp) {
      router.isUp = true;
      router.isRestarted = true;
    }
    if (isReady(router)) continue;
    const isNumbered = state.protocol.variants.includes('NUMBERED');
    if (isNumbered) beginSession(state, router);
    listCalls(state, router);
    if (!isNumbered) putBack(state, router);
    else {
      putBackNumbered(state, router, 'listed');
      finishPutBack(state, router);
    }
  }
  if (!state.redis.isBarrierPassed) passBarrier(state);
  for (const call of state.calls) {
    if (call.isAloneUnderWay) putBackAlone(state, call);
    if ((call.phase === 'asked' || call.phase === 'releasing') && state.ownerOf(call).isUp) release(state, call);
    if (call.phase === 'running') {
      call.phase = 'ended';
      call.isSpooled = true;
    }
    if (call.isSpooled && state.ownerOf(call).isUp) call.isFinalSent = true;
    if (call.pending === 'held' && !hasLiveSession(state, call)) call.isUnknownSent = true;
    if (isEndedSwept && call.pending === 'ended' && !hasLiveSession(state, call)) call.isFinalSent = true;
    if (call.isFinalSent && call.record !== 'final' && (rules.FINAL || call.record === 'none'))
      recordCall(state, call, 'final');
    if (call.isUnknownSent && call.record === 'none') recordCall(state, call, 'unknown');
  }
  if (doesAnswer(state))
    for (const router of alive)
      absorb(state, router, readSnapshot(state, callsToAsk(state, router), lapsedCalls(state)));
}
