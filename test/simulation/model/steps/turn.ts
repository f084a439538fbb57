import { forget } from '../forget.ts';
import type { FaultKind } from '../protocol.ts';
import type { Call, Router, State } from '../state.ts';

/** One state and what may come next. */
export interface Turn {
  readonly from: State;
  /** The next state; a change is made here and nowhere else. */
  readonly to: State;
  /** Something that may happen in `from`. */
  step(label: string, change: () => void): void;
  /** Something that may go wrong in it, while there are faults left. */
  fault(kind: FaultKind, label: string, change: () => void): void;
}

export function createTurn(from: State, to: State, onStep: (label: string) => void): Turn {
  function step(label: string, change: () => void): void {
    to.words.set(from.words);
    change();
    forget(to);
    onStep(label);
  }
  return {
    from,
    to,
    step,
    fault(kind, label, change) {
      if (from.faults.left === 0 || !from.protocol.kinds.includes(kind)) return;
      step(`FAULT: ${label}`, () => {
        to.faults.left -= 1;
        change();
      });
    },
  };
}

export const nameOf = ({ index }: Router): string => `R${index + 1}`;
export const callNameOf = ({ index }: Call): string => `c${index}`;
