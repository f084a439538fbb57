import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { toCallAttributes } from '@turnpike/telemetry/toCallAttributes';
import type { AdmissionFault } from '../../api/inferenceFault.ts';
import type { RedisEpoch } from '../redis/redisEpoch.ts';
import type { Spool } from '../spool/spool.ts';
import type { CallEndings } from './endCall.ts';
import type { HeldCalls, HoldTerms } from './heldCalls.ts';
import { createSettler } from './settleCalls.ts';
import { type AdmittedCall, type Ending, LEFT_BEFORE_FIRST_EVENT, toEvent } from './toEvent.ts';

export interface OpenCall {
  readonly callId: string;
  /** Aborted when the hold is lost: the call must then end in an error. */
  readonly leaseLost: AbortSignal;
  /**
   * Ends the call once: the event is in the spool when this resolves, and its settlement under way. Later calls
   * change nothing and resolve as the first. `target` is the routing target that served the call; without one its row names the
   * canonical model. False when the hold was swept meanwhile, or when neither disk nor Redis could keep the event: then the
   * answer must not end as if it were whole.
   */
  end(ending: Ending, target?: string): Promise<boolean>;
}

interface Entry {
  call: AdmittedCall;
  terms: HoldTerms;
  /** By `performance.now()`. */
  startedAt: number;
  leaseEndsAt: number;
  leaseLost: AbortController;
}

export interface OpenCallsOptions {
  endings: CallEndings;
  spool: Pick<Spool, 'append'>;
  heldCalls: HeldCalls;
  epoch: RedisEpoch;
  metrics: Pick<InferenceMetrics, 'callEnded' | 'alerted'>;
  log: Logger;
  leaseMs: number;
}

/** The calls under way in this router: their leases are renewed, and each is settled once when it ends. */
export function createOpenCalls(options: OpenCallsOptions) {
  const { endings, heldCalls, epoch, metrics, log, leaseMs } = options;
  const open = new Map<string, Entry>();
  const settler = createSettler(options);

  async function renew({ call, leaseLost }: Entry): Promise<boolean> {
    // No sweeper takes a call of an epoch that is not open; the call is asserted before one may.
    if (!epoch.isOpen) return true;
    try {
      const askedAt = performance.now();
      const lease = await endings.renewLease(call, leaseMs);
      const entry = open.get(call.callId);
      if (lease === 'held' && entry) entry.leaseEndsAt = askedAt + leaseMs;
      if (lease !== 'held' && lease !== 'lost' && entry && epoch.isOpen) epoch.reportMissingCall();
      if (lease !== 'lost') return true;
      if (entry) {
        log.error({ callId: call.callId }, 'lease lost: the call was swept while it ran');
        open.delete(call.callId);
        heldCalls.remove(call.callId);
        leaseLost.abort();
      }
      return false;
    } catch {
      // Redis does not answer, so nothing sweeps either: the call goes on and is settled when Redis is back.
      return true;
    }
  }
  const renewing = repeat(() => Promise.all(Array.from(open.values(), renew)), {
    pauseMs: leaseMs / 4,
    pausesFirst: true,
    log,
    failing: 'leases are not renewed',
  });

  function alertIfWrong({ callId, formulaNanoUsd, holdNanoUsd, status, reason }: UsageRecorded): void {
    if (formulaNanoUsd > holdNanoUsd) {
      const amounts = { formula: String(formulaNanoUsd), hold: String(holdNanoUsd) };
      log.error({ callId, ...amounts }, 'ALERT charge above hold: the excess is not charged');
      metrics.alerted('charge_above_hold');
    }
    if (reason === LEFT_BEFORE_FIRST_EVENT.reason) {
      // Any client can do this at will, so it must not call a person.
      log.info({ callId }, 'client left before the first event: nothing is charged');
    } else if (status === 'unknown') {
      log.error({ callId, reason }, 'ALERT call ended without a count: nothing is charged');
      metrics.alerted('unknown_ending');
    }
  }

  async function end(entry: Entry, ending: Ending, target: string): Promise<boolean> {
    const { call, terms, startedAt } = entry;
    if (!open.has(call.callId)) return false;
    if (entry.leaseEndsAt < performance.now() && !(await renew(entry))) return false;
    open.delete(call.callId);
    const { admittedAtMs } = terms;
    const endedAtMs = admittedAtMs + Math.round(performance.now() - startedAt);
    const event = toEvent(call, { ending, target, admittedAtMs, endedAtMs });
    alertIfWrong(event);
    metrics.callEnded(event);
    call.span.setAttributes(toCallAttributes(event));
    return settler.record({ call, terms }, { event, json: toUsageRecordedJson(event) });
  }

  return {
    /**
     * Opens the book on an admitted call; durations are measured by a monotonic clock. Throws `admission_unavailable` where
     * the balances that carry its hold are not in force any more: nothing has been run, and the hold is given back.
     */
    open(call: AdmittedCall, terms: HoldTerms): OpenCall {
      if (!epoch.isOpen || terms.epoch !== epoch.stamp.number) {
        endings.release(call).catch(() => log.warn({ callId: call.callId }, 'hold not released; its lease ends it'));
        throw new ApiError<AdmissionFault>({ kind: 'admission_unavailable' });
      }
      const startedAt = performance.now();
      const leaseLost = new AbortController();
      const entry: Entry = { call, terms, startedAt, leaseEndsAt: startedAt + leaseMs, leaseLost };
      open.set(call.callId, entry);
      heldCalls.add(entry, { hasEnded: false });
      let ended: Promise<boolean> | undefined;
      return {
        callId: call.callId,
        leaseLost: leaseLost.signal,
        end(ending, target = call.model.id) {
          ended ??= end(entry, ending, target);
          return ended;
        },
      };
    },
    get size(): number {
      return open.size;
    },
    /** Stops renewing; settlements under way get one more try, the rest is settled from the spool at the next start. */
    async close(): Promise<void> {
      await renewing.close();
      await settler.close();
    },
  };
}
export type OpenCalls = ReturnType<typeof createOpenCalls>;
