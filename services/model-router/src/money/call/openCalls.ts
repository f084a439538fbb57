import { createCallBook } from '@turnpike/holds/call/callBook';
import type { Hold } from '@turnpike/holds/call/pendingCalls';
import type { Holds } from '@turnpike/holds/holds';
import type { Logger } from '@turnpike/logging/createLogger';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import {
  type AdmittedCall,
  chargeOf,
  type Ending,
  type EngineUsage,
  LEFT_BEFORE_FIRST_EVENT,
  toEvent,
} from './toEvent.ts';

export interface OpenCall {
  readonly callId: string;
  /**
   * Ends the call once (`EndCall` of the book). `target` is the routing target that served the call; without one its row names the
   * canonical model.
   */
  end(ending: Ending, target?: string): Promise<boolean>;
  /** The charge of this call if it ends as a success with this usage. */
  chargeOf(usage: EngineUsage): NanoUsd;
}

export interface OpenCallsOptions {
  holds: Pick<Holds, 'settle'>;
  metrics: Pick<InferenceMetrics, 'callEnded' | 'alerted'>;
  log: Logger;
}

/** The calls of text under way in this router. */
export function createOpenCalls(options: OpenCallsOptions) {
  const book = createCallBook({ ...options, hadNoneDue: ({ reason }) => reason === LEFT_BEFORE_FIRST_EVENT.reason });
  return {
    open(call: AdmittedCall, hold: Pick<Hold, 'admittedAtMs'>): OpenCall {
      const end = book.open<{ ending: Ending; target: string }>(
        {
          span: call.span,
          maxTokens: call.maxTokens,
          toEvent: (ended, instants) => toEvent(call, { ...ended, ...instants }),
        },
        hold,
      );
      return {
        callId: call.callId,
        end: (ending, target = call.model.id) => end({ ending, target }),
        chargeOf: (usage) => chargeOf(call, usage).chargeNanoUsd,
      };
    },
    get size(): number {
      return book.size;
    },
    allEnded: book.allEnded,
  };
}
export type OpenCalls = ReturnType<typeof createOpenCalls>;
