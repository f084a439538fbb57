import { doesAnswer, finalsOf, readSnapshot, sumsOf, unknownsOf } from '../ledger.ts';
import { absorb, callsToAsk, isReady, lapsedCalls } from '../redis.ts';
import { type Absorb, type Answer, isIn, type Router, type State } from '../state.ts';
import { nameOf, type Turn } from './turn.ts';

/** Steps of absorbs: some at once, some with any length of time between reading, asking and running. */
export function absorbSteps(turn: Turn): void {
  const { from, to, step } = turn;
  const { rules, variants } = from.protocol;
  for (const router of from.routers) {
    if (!router.isUp || (rules.ASKLATE && !from.redis.isBarrierPassed)) continue;
    if (variants.includes('OWN_CALLS') && !isReady(router)) continue;
    if (doesAnswer(from)) {
      const answer = readSnapshot(from, callsToAsk(from, router), lapsedCalls(from));
      step(`${nameOf(router)} absorbs at once`, () => absorb(to, to.router(router.index), answer));
      step(`${nameOf(router)} absorbs at once, and takes what is final out of its spool`, () =>
        absorbAndClearSpool(to, router, answer),
      );
    }
    askingSteps(turn, router);
  }
  for (const absorb of from.absorbs) runningSteps(turn, absorb);
}

function askingSteps({ from, to, step }: Turn, router: Router): void {
  const { rules, variants, isAbsorbSplit } = from.protocol;
  const now = from.absorbs[router.index];
  const next = to.absorbs[router.index];
  if (!now || !next) return;
  const isSplit = isAbsorbSplit || !rules.SNAPSHOT;
  const readLapsed = (): number => (variants.includes('LAPSED_SEEN') ? lapsedCalls(from) : 0);
  function readSums(): void {
    if (!next) return;
    next.timeline = from.ledger.timeline;
    next.seq = from.ledger.seq;
    next.sums = sumsOf(from);
  }
  if (isSplit && now.stage !== 'reading')
    step(`${nameOf(router)} reads the pending calls${rules.SNAPSHOT ? '' : ", and the ledger's sums"}`, () => {
      next.stage = 'reading';
      next.asked = callsToAsk(from, router);
      next.lapsed = readLapsed();
      if (!rules.SNAPSHOT) readSums();
    });
  if (doesAnswer(from) && (!isSplit || now.stage === 'reading'))
    step(`${nameOf(router)} has the ledger's answer of ${from.ledger.timeline}/${from.ledger.seq}`, () => {
      if (!isSplit) {
        next.asked = callsToAsk(from, router);
        next.lapsed = readLapsed();
      }
      next.stage = 'answered';
      if (rules.SNAPSHOT) readSums();
      next.finals = finalsOf(from);
      next.unknowns = unknownsOf(from);
    });
}

function runningSteps({ from, to, step }: Turn, answer: Absorb): void {
  if (answer.stage !== 'answered') return;
  const router = from.router(answer.index);
  const label = `the absorb of ${nameOf(router)} with ${answer.timeline}/${answer.seq} runs in Redis`;
  function end(): void {
    const next = to.absorbs[answer.index];
    if (next) next.stage = 'none';
  }
  step(`${label}, and may run again`, () => absorb(to, to.router(router.index), answer));
  step(label, () => {
    end();
    absorb(to, to.router(router.index), answer);
  });
  if (router.isUp)
    step(`${label}, and what is final leaves the spool`, () => {
      end();
      absorbAndClearSpool(to, router, answer);
    });
}

function absorbAndClearSpool(to: State, router: Router, answer: Answer): void {
  const gone = absorb(to, to.router(router.index), answer);
  for (const call of to.calls) if (isIn(gone, call)) call.isSpooled = false;
}
