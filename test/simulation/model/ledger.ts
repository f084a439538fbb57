import { type Answer, bitOf, type Call, type State } from './state.ts';

/** Returns the ledger's sums: the final calls that cost something, and above them the two credits. */
export function sumsOf(state: State): number {
  const { calls } = state.protocol;
  let sums = state.setOf(({ record, charge }) => record === 'final' && charge > 0);
  if (state.ledger.hasCreditUp) sums |= creditUp(calls);
  if (state.ledger.hasCreditDown) sums |= creditDown(calls);
  return sums;
}

export const creditUp = (calls: number): number => 1 << calls;
export const creditDown = (calls: number): number => 1 << (calls + 1);

/** Everything of one snapshot. */
export function readSnapshot(state: State, asked: number, lapsed: number): Answer {
  const { timeline, seq } = state.ledger;
  return { asked, lapsed, timeline, seq, sums: sumsOf(state), finals: finalsOf(state), unknowns: unknownsOf(state) };
}

export const finalsOf = (state: State): number => state.setOf(({ record }) => record === 'final');
export const unknownsOf = (state: State): number => state.setOf(({ record }) => record === 'unknown');

/** On a new timeline the ledger is silent until it has read the log again. */
export function doesAnswer(state: State): boolean {
  const { rules } = state.protocol;
  return !rules.CATCHUP || (state.ledger.toReadAgain & ~finalsOf(state)) === 0;
}

export function recordCall(state: State, call: Call, record: 'unknown' | 'final'): void {
  commit(state, record === 'final' && call.charge > 0, () => {
    call.record = record;
  });
}

/** One transaction; one that changes the sums raises the sequence. */
export function commit({ calls, ledger, before }: State, isInSums: boolean, change: () => void): void {
  for (const call of calls) call.recordBefore = call.record;
  before.exists = true;
  before.seq = ledger.seq;
  before.hasCreditUp = ledger.hasCreditUp;
  before.hasCreditDown = ledger.hasCreditDown;
  change();
  if (isInSums) ledger.seq += 1;
}

/** The standby that takes over lacks the last commit. */
export function failOver(state: State): void {
  const { calls, ledger, before } = state;
  for (const call of calls) call.record = call.recordBefore;
  ledger.seq = before.seq;
  ledger.hasCreditUp = before.hasCreditUp;
  ledger.hasCreditDown = before.hasCreditDown;
  before.exists = false;
  beginTimeline(state);
}

function beginTimeline({ ledger, calls }: State): void {
  ledger.timeline += 1;
  ledger.toReadAgain = 0;
  for (const call of calls) if (call.isFinalSent) ledger.toReadAgain |= bitOf(call);
}

export function copyDisk({ calls, ledger, copy }: State): void {
  for (const call of calls) call.recordCopied = call.record;
  copy.exists = true;
  copy.timeline = ledger.timeline;
  copy.seq = ledger.seq;
  copy.hasCreditUp = ledger.hasCreditUp;
  copy.hasCreditDown = ledger.hasCreditDown;
}

/** The snapshot is brought up as it is. */
export function setBack(state: State): void {
  const { calls, ledger, before, copy, protocol } = state;
  for (const call of calls) call.record = call.recordCopied;
  ledger.seq = copy.seq;
  ledger.hasCreditUp = copy.hasCreditUp;
  ledger.hasCreditDown = copy.hasCreditDown;
  before.exists = false;
  if (protocol.rules.STARTED) {
    beginTimeline(state);
    return;
  }
  ledger.timeline = copy.timeline;
  ledger.toReadAgain = 0;
}
