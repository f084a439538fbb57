import type { CallFault, CutReason, EngineFault } from '../api/inferenceFault.ts';
import { type Ending, type EngineUsage, LEFT_BEFORE_FIRST_EVENT, type SuccessReason } from '../money/call/openCalls.ts';
import type { Payload } from './fields/answerFields.ts';

/** How an admitted call came out: all the ways there are. */
export type Outcome =
  /** The engine's answer is whole. `usage` is its own count, if it gave one; `rest` is what the client has not been sent yet. */
  (
    | { kind: 'whole'; usage: EngineUsage | undefined; rest: Payload | undefined }
    /** The client left while its images were fetched. */
    | { kind: 'left_before_engine' }
    | { kind: 'left_in_queue' }
    /** The client left a stream of which no event had come from the engine, and none came soon after. */
    | { kind: 'left_before_event' }
    /** The client left a stream; `usage` is the engine's count up to when it was told to stop. */
    | { kind: 'left_midway'; usage: EngineUsage | undefined }
    /** The router ended a stream that its engine did not fail; `usage` is the engine's count up to then. */
    | { kind: 'cut'; by: CutReason; afterMs: number; usage: EngineUsage | undefined }
    /** Nothing has reached the client: its images cannot be used, no engine could have the call, or the ones that had it failed. */
    | { kind: 'refused'; fault: CallFault }
    /** The client has some of its stream, and gets no more. */
    | { kind: 'broken_off'; fault: EngineFault; reason: string }
    /** A mistake of ours, before any event of the engine. */
    | { kind: 'unforeseen'; error: unknown }
  ) & {
    /** The routing target whose engine had the call last; undefined where none had it. */
    target?: string | undefined;
  };

export const ENGINE_FAILED: EngineFault = { kind: 'engine_failed' };

/**
 * How an outcome is booked, and the fault that its client is told of; undefined where the client is gone. A call is charged by
 * what its engine counted; where no count came it ends as unknown, which is never guessed. An answer
 * that is whole is handed out as such only if it was counted and its ending is kept; otherwise its client is told the fault.
 * `chargeOf` is the charge of a usage.
 */
export function conclude(
  outcome: Outcome,
  chargeOf: (usage: EngineUsage) => bigint,
): { ending: Ending; fault: CallFault | undefined } {
  switch (outcome.kind) {
    case 'whole': {
      const { usage } = outcome;
      const fault: CallFault = usage ? { kind: 'ending_not_kept' } : ENGINE_FAILED;
      return { ending: toCounted('completed', usage, 'engine_gave_no_count'), fault };
    }
    case 'left_midway': {
      const { usage } = outcome;
      return { ending: toCounted('client_left', usage, 'client_left_before_first_count'), fault: undefined };
    }
    case 'cut': {
      const { by, afterMs, usage } = outcome;
      const charged = usage && { completionTokens: usage.completionTokens, chargeNanoUsd: chargeOf(usage) };
      return {
        ending: toCounted(`cut_${by}`, usage, `cut_${by}`),
        fault: { kind: 'stream_cut', by, afterMs, charged },
      };
    }
    case 'left_before_event':
      return { ending: LEFT_BEFORE_FIRST_EVENT, fault: undefined };
    case 'left_in_queue':
      return { ending: toFailure('client_left_in_queue'), fault: undefined };
    case 'left_before_engine':
      return { ending: toFailure('client_left_before_engine'), fault: undefined };
    case 'refused':
      return { ending: toFailure(outcome.fault.kind), fault: outcome.fault };
    case 'broken_off':
      return { ending: toFailure(outcome.reason), fault: outcome.fault };
    case 'unforeseen':
      return { ending: toFailure('unforeseen'), fault: ENGINE_FAILED };
  }
}

const toFailure = (reason: string): Ending => ({ status: 'failure', reason });

const toCounted = (reason: SuccessReason, usage: EngineUsage | undefined, withoutCount: string): Ending =>
  usage ? { status: 'success', reason, usage } : { status: 'unknown', reason: withoutCount };
