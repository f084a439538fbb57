import { type Draw, drawCase } from '../cases/drawCase.ts';
import type { FuzzCase } from '../cases/fuzzCase.ts';
import type { Problem } from '../oracle/answer.ts';
import type { Judge } from '../oracle/createJudge.ts';
import { type FindingGroup, FindingList } from './finding.ts';
import { type LoopProbe, MAX_BLOCKED_MS } from './loopProbe.ts';
import type { Sender } from './sendCase.ts';
import { shrinkFinding } from './shrinkFinding.ts';
import { type Outcome, tryCase } from './tryCase.ts';

export interface FuzzTarget {
  sender: Sender;
  judge: Judge;
  loops: LoopProbe;
}

export interface FuzzOptions {
  draw: Draw;
  /** Number of the first case. */
  from: number;
  cases: number;
  /** Most requests under way at once. */
  inFlight: number;
  onProgress?: (tally: FuzzTally) => void;
}

/** The results of a run so far. */
export interface FuzzTally {
  done: number;
  /** Counts by status; `none` without an answer. */
  statuses: Map<string, number>;
  findings: number;
  /** Findings that a busy machine may have caused, and that did not come again. */
  unsteady: number;
  longestBlockedMs: number;
}

export interface FuzzResult extends FuzzTally {
  findings: number;
  groups: FindingGroup[];
  servedCallIds: string[];
  /** Calls of media that were let in. */
  servedMedia: number;
}

/** Cases between two looks at the event loops. */
const BATCH = 400;
const MAX_GROUPS = 20;
/** How often what a busy machine may have caused has to come again, with nothing else under way. */
const REPEATS = 3;

/** Draws cases, sends them side by side, and judges every answer. What is wrong is tried again alone, and shrunk. */
export async function runFuzz(
  target: FuzzTarget,
  { draw, from, cases, inFlight, onProgress }: FuzzOptions,
): Promise<FuzzResult> {
  const tally: FuzzTally = { done: 0, statuses: new Map(), findings: 0, unsteady: 0, longestBlockedMs: 0 };
  const list = new FindingList({ maxGroups: MAX_GROUPS });
  const servedCallIds: string[] = [];
  let servedMedia = 0;
  const note = ({ status, servedCallId, isServedMedia }: Outcome): void => {
    const name = String(status ?? 'none');
    tally.statuses.set(name, (tally.statuses.get(name) ?? 0) + 1);
    if (servedCallId !== undefined) servedCallIds.push(servedCallId);
    if (isServedMedia) servedMedia += 1;
  };
  const tryAlone = async (fuzzCase: FuzzCase): Promise<Problem[]> => {
    const outcome = await tryCase(fuzzCase, target);
    note(outcome);
    return outcome.problems;
  };
  const blocksAlone = async (fuzzCase: FuzzCase): Promise<boolean> => {
    await target.loops.takeBlockedMs();
    await tryAlone(fuzzCase);
    return (await target.loops.takeBlockedMs()) > MAX_BLOCKED_MS;
  };
  const add = (index: number, drawn: FuzzCase, problem: Problem): void => {
    list.add({ index, drawn, problem });
    tally.findings += 1;
  };

  await target.loops.takeBlockedMs();
  for (let start = from; start < from + cases; start += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, from + cases - start) }, (_, offset) => start + offset);
    const suspects: { index: number; drawn: FuzzCase; problem: Problem }[] = [];
    await eachSideBySide(batch, inFlight, async (index) => {
      const drawn = drawCase(draw, index);
      const outcome = await tryCase(drawn, target);
      note(outcome);
      for (const problem of outcome.problems) {
        if (problem.mayBeTheMachine) suspects.push({ index, drawn, problem });
        else add(index, drawn, problem);
      }
    });
    for (const { index, drawn, problem } of suspects) {
      const isSteady = await everyTime(async () => (await tryAlone(drawn)).some(({ kind }) => kind === problem.kind));
      if (isSteady) add(index, drawn, problem);
      else tally.unsteady += 1;
    }
    const blockedMs = await target.loops.takeBlockedMs();
    tally.longestBlockedMs = Math.max(tally.longestBlockedMs, blockedMs);
    if (blockedMs > MAX_BLOCKED_MS) {
      const isFound = await addStalls(
        batch.map((index) => ({ index, drawn: drawCase(draw, index) })),
        { blocksAlone, add },
      );
      if (!isFound) tally.unsteady += 1;
    }
    tally.done += batch.length;
    onProgress?.(tally);
  }
  const groups: FindingGroup[] = [];
  for (const finding of list.list())
    groups.push({ ...finding, smallest: await shrinkFinding(finding, { draw, tryAlone, blocksAlone }) });
  return { ...tally, groups, servedCallIds, servedMedia };
}

/** Finds which of some cases block an event loop by themselves, every time. True if any does. */
async function addStalls(
  cases: readonly { index: number; drawn: FuzzCase }[],
  {
    blocksAlone,
    add,
  }: {
    blocksAlone: (fuzzCase: FuzzCase) => Promise<boolean>;
    add: (index: number, drawn: FuzzCase, problem: Problem) => void;
  },
): Promise<boolean> {
  let isFound = false;
  for (const { index, drawn } of cases) {
    if (!(await everyTime(() => blocksAlone(drawn)))) continue;
    add(index, drawn, {
      kind: 'stall',
      text: `blocks an event loop for over ${MAX_BLOCKED_MS} ms`,
      mayBeTheMachine: true,
    });
    isFound = true;
  }
  return isFound;
}

async function everyTime(happens: () => Promise<boolean>): Promise<boolean> {
  for (let attempt = 0; attempt < REPEATS; attempt += 1) if (!(await happens())) return false;
  return true;
}

async function eachSideBySide(
  indexes: readonly number[],
  inFlight: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  const queue = indexes.values();
  const worker = async () => {
    for (const index of queue) await work(index);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}
