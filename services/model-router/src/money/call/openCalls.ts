import { setTimeout as delay } from 'node:timers/promises';
import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import type { Hold } from '@turnpike/holds/call/pendingCalls';
import type { Holds } from '@turnpike/holds/holds';
import type { Logger } from '@turnpike/logging/createLogger';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { toCallAttributes } from '@turnpike/telemetry/toCallAttributes';
import { type AdmittedCall, type Ending, LEFT_BEFORE_FIRST_EVENT, toEvent } from './toEvent.ts';

const ENDED_POLL_MS = 20;

export interface OpenCall {
  readonly callId: string;
  /**
   * Ends the call once: the event is in the spool when this resolves, and its settlement under way. Later calls
   * change nothing and resolve as the first. `target` is the routing target that served the call; without one its row names the
   * canonical model. False when neither disk nor Redis could keep the event: then the answer must not end as if it were
   * whole.
   */
  end(ending: Ending, target?: string): Promise<boolean>;
}

export interface OpenCallsOptions {
  holds: Pick<Holds, 'settle'>;
  metrics: Pick<InferenceMetrics, 'callEnded' | 'alerted'>;
  log: Logger;
}

/** The calls under way in this router: each is settled once when it ends. */
export function createOpenCalls({ holds, metrics, log }: OpenCallsOptions) {
  let size = 0;
  /** Calls whose end is not safe yet. */
  let ending = 0;

  function alertIfWrong({ callId, formulaNanoUsd, holdNanoUsd, status, reason }: UsageRecorded): void {
    if (formulaNanoUsd > holdNanoUsd) {
      const amounts = { formula: String(formulaNanoUsd), hold: String(holdNanoUsd) };
      log.error({ callId, ...amounts }, 'ALERT charge above hold: the excess is not charged');
      metrics.alerted('charge_above_hold');
    }
    if (reason === LEFT_BEFORE_FIRST_EVENT.reason) {
      // Any client can do this at will, so it must not call a person.
      log.info({ callId }, 'client left, and no event came: nothing is charged, and its tokens per minute stay taken');
    } else if (status === 'unknown') {
      log.error({ callId, reason }, 'ALERT call ended without a count: nothing is charged');
      metrics.alerted('unknown_ending');
    }
  }

  function end(call: AdmittedCall, ended: Parameters<typeof toEvent>[1]): Promise<boolean> {
    const event = toEvent(call, ended);
    alertIfWrong(event);
    metrics.callEnded(event);
    call.span.setAttributes(toCallAttributes(event));
    return holds.settle({ event, json: toUsageRecordedJson(event) });
  }

  return {
    /** Opens the book on an admitted call; durations are measured by a monotonic clock. */
    open(call: AdmittedCall, { admittedAtMs }: Pick<Hold, 'admittedAtMs'>): OpenCall {
      const startedAt = performance.now();
      size += 1;
      let ended: Promise<boolean> | undefined;
      return {
        callId: call.callId,
        end(how, target = call.model.id) {
          if (ended) return ended;
          size -= 1;
          ending += 1;
          const endedAtMs = admittedAtMs + Math.round(performance.now() - startedAt);
          ended = end(call, { ending: how, target, admittedAtMs, endedAtMs }).finally(() => {
            ending -= 1;
          });
          return ended;
        },
      };
    },
    get size(): number {
      return size;
    },
    /** Resolves once no call is under way, also of those whose clients are gone: their ends are where they are safe. */
    async allEnded(): Promise<void> {
      while (size + ending > 0) await delay(ENDED_POLL_MS, undefined, { ref: false });
    },
  };
}
export type OpenCalls = ReturnType<typeof createOpenCalls>;
