import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import type { Logger } from '@turnpike/logging/createLogger';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { computeCharge } from '@turnpike/money/price';
import type { CallSpan } from '@turnpike/telemetry/callSpan';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { toCallAttributes } from '@turnpike/telemetry/toCallAttributes';
import type { CallEndings } from '../admission/endCall.ts';
import type { PricedModel } from '../catalog/catalog.ts';
import type { EngineUsage } from '../stream/engineUsage.ts';
import type { Operation } from '../wire/inferenceRequest.ts';
import type { Spool } from './spool.ts';

/** How a call ended. A `success` always has the engine's own counts; whatever else ends it costs nothing. */
export type Ending =
  | { status: 'success'; reason: 'completed' | 'client_left'; usage: EngineUsage }
  | { status: 'failure'; reason: string }
  /** The engine ended without saying how much it used, or the client left before it said. */
  | { status: 'unknown'; reason: string };

/** What is fixed about a call when it is admitted. */
export interface AdmittedCall {
  callId: string;
  keyId: string;
  workspaceId: string;
  region: 'us' | 'eu';
  operation: Operation;
  model: PricedModel;
  priceVersion: number;
  images: number;
  holdNanoUsd: NanoUsd;
  isStream: boolean;
  /** Follows the call, if it is traced; the ledger's work on its event is linked to it. */
  span: CallSpan;
}

export interface OpenCall {
  readonly callId: string;
  /** The routing target that serves the call: set when an engine has been chosen. */
  target: string;
  /** Set by whoever streams: called when the hold is lost, as the call must then end in an error. */
  onLeaseLost: () => void;
  /**
   * Ends the call once: the event is in the spool when this resolves, and its settlement under way. Later calls
   * change nothing and resolve as the first. False when the hold was swept meanwhile: then the answer must not end as if it were whole.
   */
  end(ending: Ending): Promise<boolean>;
}

const RETRY_MS = 250;

/** The calls under way in this router: their leases are renewed, and each is settled once when it ends. */
export function createCallBook({
  endings,
  spool,
  metrics,
  log,
  leaseMs,
}: {
  endings: CallEndings;
  spool: Spool;
  metrics: Pick<InferenceMetrics, 'callEnded'>;
  log: Logger;
  leaseMs: number;
}) {
  const open = new Map<string, { call: AdmittedCall; leaseEndsAt: number; handle: OpenCall }>();
  const settling = new Set<Promise<void>>();
  let isClosing = false;

  async function renew({ call, handle }: { call: AdmittedCall; handle: OpenCall }): Promise<boolean> {
    try {
      const askedAt = performance.now();
      const isHeld = await endings.renewLease(call, leaseMs);
      const entry = open.get(call.callId);
      if (isHeld && entry) entry.leaseEndsAt = askedAt + leaseMs;
      if (!isHeld && entry) {
        log.error({ callId: call.callId }, 'lease lost: the call was swept while it ran');
        open.delete(call.callId);
        handle.onLeaseLost();
      }
      return isHeld;
    } catch {
      // Redis does not answer, so nothing sweeps either: the call goes on and is settled when Redis is back.
      return true;
    }
  }
  const renewal = setInterval(() => {
    for (const entry of open.values()) void renew(entry);
  }, leaseMs / 4);
  renewal.unref();

  /** Tries until Redis has taken it. The event is on disk and in the log by another way: only balances wait. */
  async function settleUntilTaken(event: UsageRecorded, json: string): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        await endings.settle(event, json, { isSafe: false, keepMs: leaseMs });
        return;
      } catch (error) {
        if (attempt === 0) log.warn({ err: error, callId: event.callId }, 'settlement waits for Redis');
        if (isClosing) return; // the spool settles it at the next start
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS * (1 + Math.random())));
      }
    }
  }

  async function record(event: UsageRecorded): Promise<void> {
    const json = toUsageRecordedJson(event);
    try {
      await spool.append(json);
    } catch (error) {
      log.error(
        { err: error, callId: event.callId },
        'spool refused an event; it is kept in Redis alone until the sweeper emits it',
      );
      await endings.settle(event, json, { isSafe: false, keepMs: leaseMs });
      return;
    }
    const settlement = settleUntilTaken(event, json).finally(() => settling.delete(settlement));
    settling.add(settlement);
  }

  function alertIfWrong({ callId, formulaNanoUsd, holdNanoUsd, status, reason }: UsageRecorded): void {
    if (formulaNanoUsd > holdNanoUsd) {
      const amounts = { formula: String(formulaNanoUsd), hold: String(holdNanoUsd) };
      log.error({ callId, ...amounts }, 'ALERT charge above hold: the excess is not charged');
    }
    if (status === 'unknown') log.error({ callId, reason }, 'ALERT call ended without a count: nothing is charged');
  }

  return {
    /** Opens the book on an admitted call. `admittedAtMs` is Redis' time; durations are measured by a monotonic clock. */
    open(call: AdmittedCall, admittedAtMs: number): OpenCall {
      const startedAt = performance.now();
      let ended: Promise<boolean> | undefined;
      const handle: OpenCall = {
        callId: call.callId,
        target: call.model.id,
        onLeaseLost: () => {},
        end(ending) {
          ended ??= end(ending);
          return ended;
        },
      };
      async function end(ending: Ending): Promise<boolean> {
        const entry = open.get(call.callId);
        if (!entry) return false;
        if (entry.leaseEndsAt < performance.now() && !(await renew(entry))) return false;
        open.delete(call.callId);
        const endedAtMs = admittedAtMs + Math.round(performance.now() - startedAt);
        const event = toEvent(call, { ending, target: handle.target, admittedAtMs, endedAtMs });
        alertIfWrong(event);
        metrics.callEnded(event);
        call.span.setAttributes(toCallAttributes(event));
        await record(event);
        return true;
      }
      open.set(call.callId, { call, leaseEndsAt: startedAt + leaseMs, handle });
      return handle;
    },
    get openCalls(): number {
      return open.size;
    },
    /** Stops renewing; settlements under way get one more try, the rest is settled from the spool at the next start. */
    async close(): Promise<void> {
      isClosing = true;
      clearInterval(renewal);
      await Promise.allSettled(settling);
    },
  };
}
export type CallBook = ReturnType<typeof createCallBook>;

const NO_USAGE: EngineUsage = { promptTokens: 0, completionTokens: 0, cachedPromptTokens: 0 };

function toEvent(
  call: AdmittedCall,
  {
    ending,
    target,
    admittedAtMs,
    endedAtMs,
  }: { ending: Ending; target: string; admittedAtMs: number; endedAtMs: number },
): UsageRecorded {
  const usage = ending.status === 'success' ? billedUsage(ending.usage, call.model) : NO_USAGE;
  const images = ending.status === 'success' ? call.images : 0;
  const formulaNanoUsd = ending.status === 'success' ? computeCharge({ ...usage, images }, call.model.prices) : 0n;
  return {
    version: 1,
    callId: call.callId,
    keyId: call.keyId,
    workspaceId: call.workspaceId,
    region: call.region,
    operation: call.operation,
    model: target,
    canonicalModel: call.model.id,
    priceVersion: call.priceVersion,
    status: ending.status,
    reason: ending.reason,
    promptTokens: usage.promptTokens,
    cachedPromptTokens: usage.cachedPromptTokens,
    completionTokens: usage.completionTokens,
    images,
    chargeNanoUsd: formulaNanoUsd < call.holdNanoUsd ? formulaNanoUsd : call.holdNanoUsd,
    formulaNanoUsd,
    holdNanoUsd: call.holdNanoUsd,
    modality: 'text',
    billingUnit: 'token',
    isStream: call.isStream,
    startedAtMs: admittedAtMs,
    endedAtMs: Math.max(endedAtMs, admittedAtMs),
    traceparent: call.span.traceparent,
  };
}

/** What is shown is what is charged: where a model is not cache-capable, no prompt token counts as read from a cache. */
const billedUsage = (usage: EngineUsage, { isCacheCapable }: PricedModel): EngineUsage =>
  isCacheCapable ? usage : { ...usage, cachedPromptTokens: 0 };

/** The event a sweeper emits for a call whose router is gone; it puts in the instants. */
export function toUnknownEventJson(call: AdmittedCall): string {
  return toUsageRecordedJson(
    toEvent(call, {
      ending: { status: 'unknown', reason: 'router_gone' },
      target: call.model.id,
      admittedAtMs: 0,
      endedAtMs: 0,
    }),
  );
}
