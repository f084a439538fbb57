import { setTimeout as delay } from 'node:timers/promises';
import type { EventLogProducer } from '@turnpike/event-log/eventLog';
import { parseUsageRecorded, type UsageRecorded, usageRecorded } from '@turnpike/events/usageRecorded';
import type { Logger } from '@turnpike/logging/createLogger';
import type { CallEndings } from '../admission/endCall.ts';
import type { Spool } from './spool.ts';

const MAX_BATCH = 500;
/** Events are collected for this long: the log takes a batch for little more than the price of one event. */
const LINGER_MS = 20;
/** How soon an idle publisher notices that it is to close. */
const IDLE_MS = 200;
const MAX_BACKOFF_MS = 2_000;

/** Partition key of an event that names no key a program can read. */
const UNREADABLE_KEY = 'unreadable';

interface SpooledEvent {
  json: string;
  event: UsageRecorded | undefined;
}

/**
 * Carries events from the spool to the event log, in order, for as long as it takes: a batch is sent until the log has
 * acknowledged it. Then the calls' records leave Redis. Also the way back after a crash: what the spool still holds is
 * settled and sent again, and both are done once however often they are repeated.
 */
export function publishEvents({
  spool,
  eventLog,
  endings,
  log,
}: {
  spool: Spool;
  eventLog: EventLogProducer;
  endings: CallEndings;
  log: Logger;
}) {
  let isClosed = false;

  function readEvent(json: string): SpooledEvent {
    try {
      return { json, event: parseUsageRecorded(json) };
    } catch (error) {
      log.error({ err: error }, 'event in the spool cannot be read; it is left to the dead letters of its reader');
      return { json, event: undefined };
    }
  }

  async function sendUntilTaken(events: SpooledEvent[]): Promise<void> {
    // All events of a key go to one partition.
    const records = events.map(({ event, json }) => ({ key: event?.keyId ?? UNREADABLE_KEY, value: json }));
    for (let attempt = 0; !isClosed; attempt += 1) {
      try {
        await eventLog.append(usageRecorded.topic, records);
        return;
      } catch (error) {
        if (attempt % 20 === 0)
          log.warn(
            { err: error, events: events.length, spoolBytes: spool.bytes },
            'event log takes no events; they wait in the spool',
          );
        await delay(Math.min(50 * 2 ** Math.min(attempt, 6), MAX_BACKOFF_MS) * (0.5 + Math.random() / 2));
      }
    }
    throw new Error('closed before the event log took the events');
  }

  /** What cannot be told to Redis now is told by the sweeper later: the record and its event are still there. */
  async function forget(events: SpooledEvent[]): Promise<void> {
    const results = await Promise.allSettled(
      events.map(({ event, json }) => event && endings.settle(event, json, { isSafe: true, keepMs: 0 })),
    );
    const failed = results.filter(({ status }) => status === 'rejected').length;
    if (failed > 0) log.warn({ failed }, 'acknowledged events stay in Redis until the sweeper finds them');
  }

  async function run(): Promise<void> {
    while (!isClosed) {
      const batch = await spool.readBatch(MAX_BATCH);
      if (!batch) {
        await spool.waitForAppend(IDLE_MS);
        await delay(LINGER_MS);
        continue;
      }
      if (batch.events.length > 0) {
        const events = batch.events.map(readEvent);
        await sendUntilTaken(events);
        await forget(events);
      }
      await batch.acknowledge();
    }
  }

  let running = guarded();
  async function guarded(): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (isClosed) return;
      log.error({ err: error }, 'publishing from the spool failed; it starts again');
      await delay(MAX_BACKOFF_MS);
      running = guarded();
    }
  }

  return {
    /** Waits for what is appended so far, at most `timeoutMs`, and stops. What is left is sent by the next run. */
    async close(timeoutMs: number): Promise<void> {
      const deadline = performance.now() + timeoutMs;
      while (performance.now() < deadline && spool.hasUnread) await delay(LINGER_MS);
      isClosed = true;
      await running;
    },
  };
}
