import { WORST } from '../protocol.ts';
import { availableOf, isGateOpen, listCalls, putBack } from '../redis.ts';
import type { Call, Router } from '../state.ts';
import { callNameOf, nameOf, type Turn } from './turn.ts';

/** What a router does and what happens to it, all but absorbing. */
export function routerSteps(turn: Turn): void {
  const { from, to, step, fault } = turn;
  const { rules } = from.protocol;
  const next = from.calls.find(({ phase }) => phase === 'free');
  for (const router of from.routers) {
    const after = to.router(router.index);
    if (next) admissionSteps(turn, router, next);
    if (router.isUp) {
      if (!router.hasSession || router.isRestarted)
        step(`${nameOf(router)} lists its calls to put back`, () => listCalls(to, after));
      fault('crash', `${nameOf(router)} crashes`, () => {
        after.isUp = false;
        after.isRestarted = false;
        after.isPutBackOfOlderProcess = true;
        for (const call of to.calls) if (call.phase === 'running' && call.owner === router.index) call.phase = 'lost';
      });
      if (router.hasSession)
        fault('lapse', `${nameOf(router)} pauses, and its session lapses`, () => {
          after.hasSession = false;
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
  const isPutBack = router.hasSession && !router.isRestarted;
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
