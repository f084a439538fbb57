import { setTimeout as delay } from 'node:timers/promises';
import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import type { CallEndings } from '@turnpike/holds/call/endCall';
import type { Hold } from '@turnpike/holds/call/pendingCalls';
import { createSettler, type SettlerOptions } from '@turnpike/holds/call/settleCalls';
import { ApiError } from '@turnpike/public-api/apiError';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { toCallAttributes } from '@turnpike/telemetry/toCallAttributes';
import type { AdmissionFault } from '../../api/inferenceFault.ts';
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

export interface OpenCallsOptions extends SettlerOptions {
  endings: CallEndings;
  metrics: Pick<InferenceMetrics, 'callEnded' | 'alerted'>;
}

/** The calls under way in this router: each is settled once when it ends. */
export function createOpenCalls(options: OpenCallsOptions) {
  const { endings, pending, standing, metrics, log } = options;
  const settler = createSettler(options);
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
    return settler.record({ event, json: toUsageRecordedJson(event) });
  }

  return {
    /**
     * Opens the book on an admitted call; durations are measured by a monotonic clock. Throws `admission_unavailable` where
     * the session that carries its hold is over: nothing has been run, and the hold is given back.
     */
    open(call: AdmittedCall, hold: Hold): OpenCall {
      if (standing.session?.token !== hold.session) {
        endings.release(hold).catch(() => log.warn({ callId: call.callId }, 'hold not released; the sweeper finds it'));
        throw new ApiError<AdmissionFault>({ kind: 'admission_unavailable' });
      }
      const startedAt = performance.now();
      pending.add(hold);
      size += 1;
      let ended: Promise<boolean> | undefined;
      return {
        callId: call.callId,
        end(how, target = call.model.id) {
          if (ended) return ended;
          size -= 1;
          ending += 1;
          const { admittedAtMs } = hold;
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
    /** Settlements under way get one more try; the rest is put back by the next process. */
    close: () => settler.close(),
  };
}
export type OpenCalls = ReturnType<typeof createOpenCalls>;
