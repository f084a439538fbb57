import type { State } from '../state.ts';
import { absorbSteps } from './absorbSteps.ts';
import { callSteps } from './callSteps.ts';
import { routerSteps } from './routerSteps.ts';
import { storeSteps } from './storeSteps.ts';
import { createTurn } from './turn.ts';

/** Tells of each step that may follow `from`, with `to` as it is after that step. */
export function forEachStep(from: State, to: State, onStep: (label: string) => void): void {
  const turn = createTurn(from, to, onStep);
  routerSteps(turn);
  absorbSteps(turn);
  callSteps(turn);
  storeSteps(turn);
}
