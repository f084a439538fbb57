import { creditDown, creditUp } from './ledger.ts';
import { WORST } from './protocol.ts';
import { type Answer, type Call, isIn, type Router, type State } from './state.ts';

/** Returns the amount that the entry of a call takes from the rest. */
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

/** Returns the amount that the gate offers. */
export const availableOf = (state: State): number =>
  state.calls.reduce((available, call) => available - pendingAmountOf(call), leftOf(state));

export const isGateOpen = ({ redis }: State): boolean => redis.isBarrierPassed && redis.isLoaded;

/** Whether the session that the entry of a call names is live. */
export function hasLiveSession(state: State, call: Call): boolean {
  return state.ownerOf(call).hasSession && (!state.protocol.rules.STAMP || call.isOfNewestSession);
}

/** Whether a router has put back under its live session. */
export const isReady = ({ hasSession, isRestarted, hasToPutBack }: Router): boolean =>
  hasSession && !isRestarted && !hasToPutBack;

/** Whether its calls are to be found in Redis under a live session. */
const isPresent = ({ hasSession, hasToPutBack }: Router): boolean => hasSession && !hasToPutBack;

/** Returns the calls that a router asks the ledger about: all pending calls, and those in its own spool. */
export function callsToAsk(state: State, router: Router): number {
  const isOwn = (call: Call): boolean => call.isSpooled && call.owner === router.index;
  if (!state.protocol.variants.includes('OWN_CALLS'))
    return state.setOf((call) => call.pending !== 'none' || isOwn(call));
  return lapsedCalls(state) | router.toAskAgain | state.setOf(isOwn);
}

/** Pending calls whose session is seen to have lapsed. */
export const lapsedCalls = (state: State): number =>
  state.setOf((call) => call.pending !== 'none' && !hasLiveSession(state, call));

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
    else if (isIn(unknowns, call) && mayDropUnknown(state, call, answer)) {
      const owner = state.ownerOf(call);
      if (call.pending === 'held' && !isPresent(owner)) call.isExcused = true;
      drop(call);
    }
  }
  for (const call of state.calls) if (isIn(redis.sums, call)) call.isExcused = false;
  redis.isLoaded = true;
  router.toAskAgain &= ~(finals & asked);
  const gone = asked & (rules.SPOOL ? finals : finals | unknowns);
  return state.setOf((call) => isIn(gone, call) && call.isSpooled && call.owner === router.index);
}

function mayDropUnknown(state: State, call: Call, { lapsed }: Answer): boolean {
  const { rules, variants } = state.protocol;
  if (!rules.UNKNOWN) return false;
  const isLive = variants.includes('LAPSED_SEEN') ? !isIn(lapsed, call) : hasLiveSession(state, call);
  if (rules.OWNER && isLive) return false;
  return !rules.HELD || call.pending === 'held';
}

function drop(call: Call): void {
  call.pending = 'none';
  call.isOfNewestSession = false;
}

/** The release script: an admission that nobody waits for any more, whether it has run or not. */
export function release(state: State, call: Call): void {
  drop(call);
  call.phase = 'refused';
  if (state.protocol.rules.TOMBSTONE) call.admission = 'none';
}

/** Those whose calls are in nobody's list are an exception: fenced, or dead together with Redis. */
export function passBarrier(state: State): void {
  state.redis.isBarrierPassed = true;
  for (const call of state.calls)
    if (call.phase !== 'free' && !isPresent(state.ownerOf(call)) && call.pending === 'none') call.isExcused = true;
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
    // The admission carries the id of Redis as well.
    if (call.admission === 'sent') call.admission = 'none';
    if (rules.PUTID) call.isAloneUnderWay = false;
    call.isAloneOfNewestSession = false;
  }
  for (const router of state.routers) {
    router.hasSession = isSaved && !rules.LOADED && router.hadSession;
    router.hasToPutBack = false;
    if (rules.PUTID) router.isOlderUnderWay = false;
    router.toAskAgain = 0;
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
