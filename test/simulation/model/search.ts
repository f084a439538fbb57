import { type Broken, createInvariants } from './invariants.ts';
import type { Protocol } from './protocol.ts';
import { RowTable } from './rowTable.ts';
import { State } from './state.ts';
import { forEachStep } from './steps/steps.ts';

export interface SearchOptions {
  /** Ends the search, incomplete. */
  mostStates?: number;
  /** Told now and then how far the search is. */
  onProgress?: (progress: { found: number; checked: number; depth: number }) => void;
}

export interface SearchResult {
  states: number;
  /** Steps to the states that are furthest away. */
  depth: number;
  /** Whether every state was reached and checked. */
  isComplete: boolean;
  broken: Broken | undefined;
  /** The steps to the broken invariant: as few as there can be. */
  trace: string[];
}

const PROGRESS_EVERY = 1 << 14;

/** Goes through all states, the nearest first, until an invariant is broken or there are no more. */
export function search(
  protocol: Protocol,
  { mostStates = Number.POSITIVE_INFINITY, onProgress }: SearchOptions = {},
): SearchResult {
  const from = new State(protocol);
  const to = new State(protocol);
  const invariants = createInvariants(from);
  const table = new RowTable(from.words.length);
  /** The state from which each was reached first. */
  const parents: number[] = [-1];
  table.add(from.begin().words);
  let depth = 0;
  let endOfDepth = 1;
  for (let current = 0; current < table.count && table.count < mostStates; current += 1) {
    if (current === endOfDepth) {
      depth += 1;
      endOfDepth = table.count;
    }
    if (current % PROGRESS_EVERY === PROGRESS_EVERY - 1) onProgress?.({ found: table.count, checked: current, depth });
    from.words.set(table.row(current));
    const broken = invariants.find();
    if (broken)
      return {
        states: table.count,
        depth,
        isComplete: false,
        broken,
        trace: traceTo(current, { table, parents, from, to }),
      };
    forEachStep(from, to, () => {
      if (table.add(to.words)) parents.push(current);
    });
  }
  return { states: table.count, depth, isComplete: table.count < mostStates, broken: undefined, trace: [] };
}

interface Reached {
  table: RowTable;
  parents: number[];
  from: State;
  to: State;
}

function traceTo(last: number, { table, parents, from, to }: Reached): string[] {
  const trace: string[] = [];
  for (let current = last; current > 0; current = parents[current] ?? 0) {
    const goal = table.row(current);
    let via = '';
    from.words.set(table.row(parents[current] ?? 0));
    forEachStep(from, to, (label) => {
      if (via === '' && goal.every((word, at) => word === to.words[at])) via = label;
    });
    trace.unshift(via);
  }
  return trace;
}
