import { creditDown, creditUp } from './ledger.ts';
import { WORST } from './protocol.ts';
import { type Answer, type Call, isIn, type Router, type State } from './state.ts';

/** What the entry of a call takes from what is left. */
export function pendingAmountOf({ pending, charge }: Call): number {
  if (pending === 'none') return 0;
  return pending === 'held' ? WORST : charge;
}

/** Credits less charges, as far as Redis knows. */
export function leftOf({ calls, redis: { sums }, protocol }: State): number {
  let left = protocol.credit;
  if (sums & creditUp(protocol.calls)) left += 1;
  if (sums & creditDown(protocol.calls)) left -= 1;
  for (const call of calls) if (isIn(sums, call)) left -= call.charge;
  return left;
}

/** What the gate offers. */
export const availableOf = (state: State): number =>
  state.calls.reduce((available, call) => available - pendingAmountOf(call), leftOf(state));

export const isGateOpen = ({ redis }: State): boolean => redis.isBarrierPassed && redis.isLoaded;

/** Whether the session that the entry of a call names is live. */
export function hasLiveSession(state: State, call: Call): boolean {
  return state.ownerOf(call).hasSession && (!state.protocol.rules.STAMP || call.isOfNewestSession);
}

/** What a router asks the ledger about: all pending calls, and those in its own spool. */
export const callsToAsk = (state: State, router: Router): number =>
  state.setOf((call) => call.pending !== 'none' || (call.isSpooled && call.owner === router.index));

/** The absorb script. Returns which calls of the router may now leave its spool. */
export function absorb(state: State, router: Router, answer: Answer): number {
  const { redis, protocol } = state;
  const { rules } = protocol;
  const { asked, timeline, seq, sums, finals, unknowns } = answer;
  if (rules.OLDLINE && redis.hasSums && timeline < redis.timeline) return 0;
  const isNewer =
    !redis.hasSums || (rules.TIMELINE && timeline !== redis.timeline ? timeline > redis.timeline : seq > redis.seq);
  if (isNewer || !rules.NEWER) {
    redis.hasSums = true;
    redis.timeline = timeline;
    redis.seq = seq;
    redis.sums = sums;
  }
  for (const call of state.calls) {
    if (!isIn(asked, call) || call.pending === 'none') continue;
    if (isIn(finals, call) && (isNewer || rules.SAMESEQ)) drop(call);
    else if (isIn(unknowns, call) && mayDropUnknown(state, call)) {
      if (call.pending === 'held' && !state.ownerOf(call).hasSession) call.isExcused = true;
      drop(call);
    }
  }
  for (const call of state.calls) if (isIn(redis.sums, call)) call.isExcused = false;
  redis.isLoaded = true;
  const gone = rules.SPOOL ? finals : finals | unknowns;
  return state.setOf((call) => isIn(gone, call) && call.isSpooled && call.owner === router.index);
}

function mayDropUnknown(state: State, call: Call): boolean {
  const { rules } = state.protocol;
  if (!rules.UNKNOWN) return false;
  if (rules.OWNER && hasLiveSession(state, call)) return false;
  return !rules.HELD || call.pending === 'held';
}

function drop(call: Call): void {
  call.pending = 'none';
  call.isOfNewestSession = false;
}

/** A router lists what it will put back: what runs, and what ended and is in its spool. */
export function listCalls(state: State, router: Router): void {
  const { rules } = state.protocol;
  router.putBack = 'listed';
  router.isPutBackOfOlderProcess = false;
  router.listedRunning = state.setOf((call) => call.owner === router.index && call.phase === 'running');
  router.listedEnded = rules.ENDED
    ? state.setOf((call) => call.owner === router.index && call.phase === 'ended' && call.isSpooled)
    : 0;
}

/** The put-back script. The router has a new session from here on, and nothing of it is excused any more. */
export function putBack(state: State, router: Router): void {
  for (const call of state.calls) {
    if (call.owner !== router.index) continue;
    const isListedRunning = isIn(router.listedRunning, call);
    const isListed = isListedRunning || isIn(router.listedEnded, call);
    call.isOfNewestSession = isListed;
    call.isExcused = false;
    if (isListed) call.pending = isListedRunning ? 'held' : 'ended';
  }
  router.hasSession = true;
  if (!router.isPutBackOfOlderProcess) router.isRestarted = false;
  router.putBack = 'ran';
}

/** Those whose calls are in nobody's list are an exception: fenced, or dead together with Redis. */
export function passBarrier(state: State): void {
  state.redis.isBarrierPassed = true;
  for (const call of state.calls)
    if (call.phase !== 'free' && !state.ownerOf(call).hasSession && call.pending === 'none') call.isExcused = true;
}

export function saveRedis(state: State): void {
  const { calls, routers, redis, saved } = state;
  for (const call of calls) {
    call.savedPending = call.pending;
    call.isSavedOfNewestSession = call.isOfNewestSession;
  }
  for (const router of routers) router.hadSession = router.hasSession;
  saved.exists = true;
  saved.isOpen = isGateOpen(state);
  saved.hasSums = redis.hasSums;
  saved.timeline = redis.timeline;
  saved.seq = redis.seq;
  saved.sums = redis.sums;
}

/** Redis comes back with another id, empty or as it was saved. */
export function loseRedis(state: State, comesBack: 'empty' | 'saved'): void {
  const { redis, saved, faults, absorbs } = state;
  const { rules } = state.protocol;
  const isSaved = comesBack === 'saved';
  const isTakenForOpen = isSaved && !rules.LOADED && saved.isOpen;
  faults.wasRedisLost = true;
  for (const call of state.calls) {
    call.pending = isSaved ? call.savedPending : 'none';
    call.isOfNewestSession = isSaved && call.isSavedOfNewestSession;
  }
  for (const router of state.routers) {
    router.hasSession = isSaved && !rules.LOADED && router.hadSession;
    if (router.putBack !== 'none') router.putBack = rules.PUTID ? 'none' : 'stale';
  }
  redis.clear();
  redis.isBarrierPassed = isTakenForOpen;
  redis.isLoaded = isTakenForOpen;
  if (isSaved) {
    redis.hasSums = saved.hasSums;
    redis.timeline = saved.timeline;
    redis.seq = saved.seq;
    redis.sums = saved.sums;
  }
  if (rules.ID) for (const under of absorbs) under.stage = 'none';
}
