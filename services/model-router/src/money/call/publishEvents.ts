import { setTimeout as delay } from 'node:timers/promises';
import type { EventLogProducer } from '@turnpike/event-log/eventLog';
import { parseUsageRecorded, type UsageRecorded, usageRecorded } from '@turnpike/events/usageRecorded';
import { backoffMs } from '@turnpike/lifecycle/backoff';
import { pause } from '@turnpike/lifecycle/pause';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { RedisEpoch } from '../redis/redisEpoch.ts';
import type { Spool } from '../spool/spool.ts';
import type { CallEndings } from './endCall.ts';
import type { HeldCalls } from './heldCalls.ts';

const MAX_BATCH = 500;
/** Events are collected for this long: the log takes a batch for little more than the price of one event. */
const LINGER_MS = 20;
/** How soon a publisher that waits for a call's settlement looks again. */
const WAITING_MS = 20;
/** How soon an idle publisher notices that it is to close. */
const IDLE_MS = 200;
const BACKOFF = { firstMs: 50, longestMs: 2_000 };

const doNothing = async (): Promise<void> => {};

/** Partition key of an event that names no key a program can read. */
const UNREADABLE_KEY = 'unreadable';

interface SpooledEvent {
  json: string;
  event: UsageRecorded | undefined;
}

/**
 * Carries events from the spool to the event log, in order, for as long as it takes: a batch is sent until the log has
 * acknowledged it. An event leaves the spool only when its call does not wait to be settled, since balances that are built
 * anew must not hold it already, and not while it is unknown which balances are in force. Then the calls' records leave Redis. Also the way back after a crash: what the spool still holds is
 * settled and sent again, and both are done once however often they are repeated.
 */
export function publishEvents({
  spool,
  eventLog,
  endings,
  heldCalls,
  epoch,
  metrics,
  log,
}: {
  spool: Spool;
  eventLog: EventLogProducer;
  endings: CallEndings;
  heldCalls: Pick<HeldCalls, 'has'>;
  epoch: Pick<RedisEpoch, 'maySend'>;
  metrics: Pick<InferenceMetrics, 'alerted'>;
  log: Logger;
}) {
  /** The call whose event is next and waits. */
  let waitingFor: string | undefined;

  function readEvent(json: string): SpooledEvent {
    try {
      return { json, event: parseUsageRecorded(json) };
    } catch (error) {
      log.error(
        { err: error },
        'ALERT event in the spool cannot be read; it is left to the dead letters of its reader',
      );
      metrics.alerted('unreadable_call');
      return { json, event: undefined };
    }
  }

  async function sendUntilTaken(events: SpooledEvent[], signal: AbortSignal): Promise<void> {
    // All events of a key go to one partition.
    const records = events.map(({ event, json }) => ({ key: event?.keyId ?? UNREADABLE_KEY, value: json }));
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        await eventLog.append(usageRecorded.topic, records);
        return;
      } catch (error) {
        if (attempt % 20 === 0)
          log.warn(
            { err: error, events: events.length, spoolBytes: spool.bytes },
            'event log takes no events; they wait in the spool',
          );
        await pause(backoffMs(attempt, BACKOFF), signal);
      }
    }
    throw new Error('closed before the event log took the events');
  }

  /** Redis may not answer. The sweeper forgets the calls later then: their records and events are still there. */
  async function forget(events: SpooledEvent[]): Promise<void> {
    const results = await Promise.allSettled(
      events.map(({ event, json }) => event && endings.settle(event, json, { isSafe: true, keepMs: 0 })),
    );
    const failed = results.filter(({ status }) => status === 'rejected').length;
    if (failed > 0) log.warn({ failed }, 'acknowledged events stay in Redis until the sweeper finds them');
  }

  const isWaiting = ({ event }: SpooledEvent): boolean => event !== undefined && heldCalls.has(event.callId);

  /** The next events as far as they may be sent; undefined when there is none. */
  async function readSendable(): Promise<{ events: SpooledEvent[]; acknowledge(): Promise<void> } | undefined> {
    const batch = epoch.maySend ? await spool.readBatch(MAX_BATCH) : undefined;
    if (!batch) return undefined;
    const events = batch.events.map(readEvent);
    const first = events.findIndex(isWaiting);
    waitingFor = first === 0 ? events[0]?.event?.callId : undefined;
    if (first <= 0)
      return { events: first === 0 ? [] : events, acknowledge: first === 0 ? doNothing : batch.acknowledge };
    const part = await spool.readBatch(first);
    return part && { events: events.slice(0, first), acknowledge: part.acknowledge };
  }

  async function publishNext(signal: AbortSignal): Promise<void> {
    const batch = await readSendable();
    if (!batch) {
      await spool.waitForAppend(IDLE_MS);
      return delay(LINGER_MS);
    }
    if (batch.events.length > 0) {
      await sendUntilTaken(batch.events, signal);
      await forget(batch.events);
    }
    await batch.acknowledge();
    if (waitingFor !== undefined) await delay(WAITING_MS);
  }

  const publishing = repeat(publishNext, {
    pauseMs: 0,
    backoff: BACKOFF,
    log,
    failing: 'publishing from the spool failed; it starts again',
    level: 'error',
  });

  return {
    /** Whether nothing is left to send but what waits for its call's settlement. */
    get isCaughtUp(): boolean {
      return !spool.hasUnread || (waitingFor !== undefined && heldCalls.has(waitingFor));
    },
    /** Waits for what is appended so far, at most `timeoutMs`, and stops. What is left is sent by the next run. */
    async close(timeoutMs: number): Promise<void> {
      const deadline = performance.now() + timeoutMs;
      while (performance.now() < deadline && spool.hasUnread) await delay(LINGER_MS);
      await publishing.close();
    },
  };
}
