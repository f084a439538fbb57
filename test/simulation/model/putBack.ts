import { bitOf, type Call, isIn, type Router, type State } from './state.ts';

/** A router lists what it will put back: what runs, and what ended and is in its spool. */
export function listCalls(state: State, router: Router): void {
  const { rules } = state.protocol;
  if (router.putBack === 'listed' && state.protocol.variants.includes('NUMBERED')) {
    router.isOlderUnderWay = true;
    router.isOlderOfNewestSession = router.isListOfNewestSession;
    router.olderRunning = router.listedRunning;
    router.olderEnded = router.listedEnded;
  }
  router.isListOfNewestSession = true;
  if (rules.ENDFIRST) for (const call of state.calls) if (call.owner === router.index) call.passesRecheck = false;
  router.putBack = 'listed';
  router.isPutBackOfOlderProcess = false;
  router.listedRunning = state.setOf((call) => call.owner === router.index && call.phase === 'running');
  router.listedEnded = rules.ENDED
    ? state.setOf((call) => call.owner === router.index && call.phase === 'ended' && call.isSpooled)
    : 0;
}

/** The put-back script. The router has a new session from here on, and nothing of it is excused any more. */
export function putBack(state: State, router: Router): void {
  const { rules } = state.protocol;
  for (const call of state.calls) {
    if (call.owner !== router.index) continue;
    const isListedRunning = isIn(router.listedRunning, call);
    const isListed = isListedRunning || isIn(router.listedEnded, call);
    call.isOfNewestSession = isListed;
    call.isAskedInNewestSession = false;
    call.passesRecheck = false;
    call.isExcused = false;
    if (!isListed) continue;
    call.pending = isListedRunning ? 'held' : 'ended';
    if (rules.COMPARED) for (const under of state.absorbs) under.lapsed &= ~bitOf(call);
    noteToAskAgain(router, call, state);
  }
  leaveAlone(state, router, rules.PUTONCE);
  router.hasSession = true;
  if (!router.isPutBackOfOlderProcess) router.isRestarted = false;
  router.putBack = 'ran';
}

/** Calls that are put back alone come under an older session now, or are refused. */
function leaveAlone(state: State, router: Router, isRefused: boolean): void {
  for (const call of state.calls) {
    if (call.owner !== router.index) continue;
    call.isAloneOfNewestSession = false;
    if (isRefused) call.isAloneUnderWay = false;
  }
}

/** The put-back script with one ended call. */
export function putBackAlone(state: State, call: Call): void {
  if (call.pending === 'none') {
    call.pending = 'ended';
    call.isOfNewestSession = call.isAloneOfNewestSession;
    noteToAskAgain(state.ownerOf(call), call, state);
  }
  call.isAloneUnderWay = false;
  call.isAloneOfNewestSession = false;
}

/** With OWN_CALLS nobody else would ask about it. */
function noteToAskAgain(router: Router, call: Call, { protocol: { rules, variants } }: State): void {
  if (!rules.AGAIN || !variants.includes('OWN_CALLS') || !router.isUp) return;
  if (call.phase === 'ended' && !call.isSpooled) router.toAskAgain |= bitOf(call);
}

/** Those of a new session: what names the last one names a session that is not the newest. */
export function beginSession(state: State, router: Router): void {
  router.hasSession = true;
  router.isRestarted = false;
  router.hasToPutBack = true;
  router.isListOfNewestSession = false;
  router.isOlderOfNewestSession = false;
  for (const call of state.calls) {
    if (call.owner !== router.index) continue;
    call.isOfNewestSession = false;
    call.isAskedInNewestSession = false;
    call.isAloneOfNewestSession = false;
    if (state.protocol.rules.ENDFIRST) call.passesRecheck = false;
  }
}

/** The put-back script with NUMBERED. A charge stays a charge. */
export function putBackNumbered(state: State, router: Router, list: 'listed' | 'older'): void {
  const { rules } = state.protocol;
  const isOlder = list === 'older';
  const running = isOlder ? router.olderRunning : router.listedRunning;
  const ended = isOlder ? router.olderEnded : router.listedEnded;
  for (const call of state.calls) {
    if (!isIn(running | ended, call)) continue;
    if (call.pending !== 'ended') call.pending = isIn(running, call) ? 'held' : 'ended';
    call.isOfNewestSession = isOlder ? router.isOlderOfNewestSession : router.isListOfNewestSession;
    call.isExcused = false;
    if (rules.COMPARED) for (const absorb of state.absorbs) absorb.lapsed &= ~bitOf(call);
    noteToAskAgain(router, call, state);
  }
  leaveAlone(state, router, rules.NUMBER);
  if (isOlder) router.isOlderUnderWay = false;
  else router.putBack = 'ran';
  if (rules.NUMBER) router.isOlderUnderWay = false;
}

/** The router has heard that its newest list is back under its newest session. */
export function finishPutBack(state: State, router: Router): void {
  router.hasToPutBack = false;
  for (const call of state.calls)
    if (call.owner === router.index) {
      call.isExcused = false;
      call.passesRecheck &&= call.isAskedInNewestSession;
    }
}
