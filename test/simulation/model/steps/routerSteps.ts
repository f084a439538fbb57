import { WORST } from '../protocol.ts';
import { beginSession, finishPutBack, listCalls, putBack, putBackNumbered } from '../putBack.ts';
import { availableOf, isGateOpen, isReady } from '../redis.ts';
import type { Call, Router } from '../state.ts';
import { callNameOf, nameOf, type Turn } from './turn.ts';

/** Steps of a router and events that it suffers, all but absorbing. */
export function routerSteps(turn: Turn): void {
  const { from, to, step, fault } = turn;
  const { rules, variants } = from.protocol;
  const next = from.calls.find(({ phase }) => phase === 'free');
  for (const router of from.routers) {
    const after = to.router(router.index);
    if (next && variants.includes('ROUTER_ADMITS')) askingSteps(turn, router, next);
    else if (next) admissionSteps(turn, router, next);
    if (router.isUp) {
      if (variants.includes('NUMBERED') && (!router.hasSession || router.isRestarted))
        step(`${nameOf(router)} begins a session`, () => beginSession(to, after));
      if (
        variants.includes('NUMBERED')
          ? router.hasToPutBack && !router.isRestarted
          : !router.hasSession || router.isRestarted
      )
        step(`${nameOf(router)} lists its calls to put back`, () => listCalls(to, after));
      fault('crash', `${nameOf(router)} crashes`, () => {
        after.isUp = false;
        after.isRestarted = false;
        after.toAskAgain = 0;
        after.isPutBackOfOlderProcess = true;
        for (const call of to.calls) {
          if (call.owner !== router.index) continue;
          if (call.phase === 'running') call.phase = 'lost';
          if (call.phase === 'asked' || call.phase === 'releasing') call.phase = 'refused';
        }
      });
      if (router.hasSession)
        fault('lapse', `${nameOf(router)} pauses, and its session lapses`, () => {
          after.hasSession = false;
          after.hasToPutBack = false;
        });
      else if (!rules.LEASE && from.redis.isBarrierPassed)
        step(`${nameOf(router)} renews its session`, () => {
          after.hasSession = true;
        });
    } else {
      step(`${nameOf(router)} starts again`, () => {
        after.isUp = true;
        after.isRestarted = true;
      });
      if (router.hasSession)
        step(`the session of ${nameOf(router)} lapses`, () => {
          after.hasSession = false;
        });
    }
    if (variants.includes('NUMBERED')) {
      numberedSteps(turn, router);
      continue;
    }
    const mayPutBack =
      router.putBack === 'listed' ||
      (router.putBack === 'ran' && !rules.PUTONCE) ||
      (router.putBack === 'stale' && !rules.PUTID);
    if (mayPutBack)
      step(`the put-back of ${nameOf(router)} runs in Redis${router.putBack === 'listed' ? '' : ' once more'}`, () =>
        putBack(to, after),
      );
  }
}

/** The first call is R1's: the routers are alike. */
function admissionSteps({ from, to, step }: Turn, router: Router, next: Call): void {
  const { rules } = from.protocol;
  const isPutBack = isReady(router);
  if (next.index === 0 && router.index > 0) return;
  if (!router.isUp || !isGateOpen(from) || availableOf(from) < WORST) return;
  function admit(phase: 'running' | 'lost'): void {
    const call = to.call(next);
    call.phase = phase;
    call.owner = router.index;
    call.pending = 'held';
    call.isOfNewestSession = isPutBack;
  }
  if (isPutBack || !rules.ADMIT) step(`${nameOf(router)} admits ${callNameOf(next)}`, () => admit('running'));
  // With the rule this is an admission, and an end with charge 0.
  if (isPutBack && !rules.ANSWER)
    step(`${nameOf(router)} admits ${callNameOf(next)}, and has no answer`, () => admit('lost'));
}

/** With NUMBERED: a put-back that ran and was not heard of is listed again. */
function numberedSteps({ from, to, step }: Turn, router: Router): void {
  const { rules } = from.protocol;
  const after = to.router(router.index);
  const name = nameOf(router);
  const mayRun =
    router.putBack === 'listed' ||
    (router.putBack === 'ran' && !rules.NUMBER) ||
    (router.putBack === 'stale' && !rules.PUTID);
  if (mayRun) {
    const label = `the put-back of ${name} runs in Redis`;
    step(`${label}, and is not heard of`, () => putBackNumbered(to, after, 'listed'));
    const isHeard =
      router.isUp && router.hasToPutBack && router.isListOfNewestSession && !router.isPutBackOfOlderProcess;
    if (router.putBack === 'listed' && isHeard)
      step(label, () => {
        putBackNumbered(to, after, 'listed');
        finishPutBack(to, after);
      });
  }
  if (router.isOlderUnderWay)
    step(`the put-back of an older list of ${name} runs in Redis`, () => putBackNumbered(to, after, 'older'));
}

function askingSteps({ from, to, step }: Turn, router: Router, next: Call): void {
  if (next.index === 0 && router.index > 0) return;
  if (!router.isUp || !isReady(router) || !from.redis.isBarrierPassed) return;
  step(`${nameOf(router)} asks for the admission of ${callNameOf(next)}`, () => {
    const call = to.call(next);
    call.phase = 'asked';
    call.owner = router.index;
    call.admission = 'sent';
    call.isAskedInNewestSession = true;
    call.passesRecheck = true;
  });
}
