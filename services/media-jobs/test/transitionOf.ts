import type { TransitionName } from '../src/jobs/transitions.ts';

/** Returns the transition whose name a statement has. */
export const transitionOf = (sql: string): TransitionName | undefined =>
  /version = version \+ 1 \/\* (\w+) \*\//.exec(sql)?.[1] as TransitionName | undefined;
