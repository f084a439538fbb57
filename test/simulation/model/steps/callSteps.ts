import { doesAnswer, recordCall } from '../ledger.ts';
import { WORST } from '../protocol.ts';
import { putBackAlone } from '../putBack.ts';
import { availableOf, hasLiveSession, isGateOpen, isReady, release } from '../redis.ts';
import type { Call } from '../state.ts';
import { callNameOf, nameOf, type Turn } from './turn.ts';

/** How each call ends, is settled and published, swept, and recorded. */
export function callSteps(turn: Turn): void {
  for (const call of turn.from.calls) {
    if (call.admission === 'sent' || call.phase === 'asked' || call.phase === 'releasing') askedSteps(turn, call);
    if (call.phase === 'running') endingSteps(turn, call);
    if (call.phase === 'ended') endedSteps(turn, call);
    recordingSteps(turn, call);
  }
}

/** With ROUTER_ADMITS: the admission, its answer, and its release. */
function askedSteps({ from, to, step }: Turn, call: Call): void {
  const { rules } = from.protocol;
  const next = to.call(call);
  const name = callNameOf(call);
  const { isUp } = from.ownerOf(call);
  if (call.admission === 'sent')
    step(`the admission of ${name} runs in Redis`, () => {
      if (isGateOpen(from) && availableOf(from) >= WORST) {
        next.admission = 'ran';
        next.pending = 'held';
        next.isOfNewestSession = call.isAskedInNewestSession;
      } else {
        next.admission = 'none';
        next.phase = 'refused';
      }
    });
  if (call.phase === 'asked' && call.admission === 'ran' && isUp)
    step(`${nameOf(from.ownerOf(call))} hears that ${name} is admitted`, () => {
      next.phase = !rules.RECHECK || call.passesRecheck ? 'running' : 'releasing';
    });
  if (call.phase === 'asked' && isUp)
    step(`${nameOf(from.ownerOf(call))} gives up waiting for the admission of ${name}`, () => {
      next.phase = 'releasing';
    });
  if (call.phase === 'releasing' && isUp) step(`the release of ${name} runs in Redis`, () => release(to, next));
}

function endingSteps({ from, to, step }: Turn, call: Call): void {
  const next = to.call(call);
  for (const charge of from.protocol.charges)
    step(`${callNameOf(call)} ends on ${nameOf(from.ownerOf(call))} with charge ${charge}, in its spool`, () => {
      next.phase = 'ended';
      next.charge = charge;
      next.isSpooled = true;
    });
}

function endedSteps({ from, to, step }: Turn, call: Call): void {
  const { rules, variants } = from.protocol;
  const next = to.call(call);
  const owner = from.ownerOf(call);
  if (call.pending === 'held' || (call.pending === 'none' && from.redis.isLoaded && !rules.EXISTS))
    step(`settling ${callNameOf(call)} runs in Redis`, () => {
      next.pending = 'ended';
    });
  if (call.isAloneUnderWay)
    step(`the put-back of ${callNameOf(call)} alone runs in Redis`, () => putBackAlone(to, next));
  if (!call.isSpooled || !owner.isUp) return;
  if (variants.includes('ALONE') && call.pending === 'none' && !call.isAloneUnderWay && isReady(owner))
    step(`${nameOf(owner)} finds ${callNameOf(call)} pending no more, and puts it back alone`, () => {
      next.isAloneUnderWay = true;
      next.isAloneOfNewestSession = true;
    });
  if (!call.isFinalSent && (!rules.QUIET || (owner.hasSession && !owner.isRestarted)))
    step(`${nameOf(owner)} publishes ${callNameOf(call)}`, () => {
      next.isFinalSent = true;
    });
  if (!rules.APPLIED && call.record === 'final' && doesAnswer(from))
    step(`${nameOf(owner)} hears that ${callNameOf(call)} is final, and takes it out of its spool`, () => {
      next.isSpooled = false;
    });
}

function recordingSteps({ from, to, step }: Turn, call: Call): void {
  const { rules, variants } = from.protocol;
  const next = to.call(call);
  if (call.isFinalSent && call.record !== 'final' && (rules.FINAL || call.record === 'none'))
    step(`the ledger records ${callNameOf(call)} as final`, () => recordCall(to, next, 'final'));
  if (call.isUnknownSent && call.record === 'none')
    step(`the ledger records ${callNameOf(call)} as unknown`, () => recordCall(to, next, 'unknown'));
  const isEndedSwept = variants.includes('ENDED_SWEPT') && call.pending === 'ended' && !call.isFinalSent;
  const hasSweeper = from.routers.some(({ isUp, hasSession }) => isUp && hasSession);
  if (call.pending === 'held' && !call.isUnknownSent && hasSweeper && !hasLiveSession(from, call))
    step(`${callNameOf(call)} is swept: unknown goes to the log`, () => {
      next.isUnknownSent = true;
    });
  if (isEndedSwept && hasSweeper && !hasLiveSession(from, call))
    step(`${callNameOf(call)} is swept: its event goes to the log`, () => {
      next.isFinalSent = true;
    });
}
