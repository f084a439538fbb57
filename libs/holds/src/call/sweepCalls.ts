import { randomUUID } from 'node:crypto';
import type { EventLogProducer, EventRecord } from '@turnpike/event-log/eventLog';
import { parseUsageRecorded, toUsageRecordedJson, usageRecorded } from '@turnpike/events/usageRecorded';
import { pause } from '@turnpike/lifecycle/pause';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { validate as isUuid } from 'uuid';
import type { Absorber } from '../balances/absorb.ts';
import { defineScript } from '../redis/askRedis.ts';
import { CALLS_PATTERN, redisKeys, workspaceOf } from '../redis/redisKeys.ts';
import type { Shard } from '../redis/shards.ts';

/** Keys of Redis that a step of the walk looks at: well under a millisecond of its time. */
const KEYS_A_STEP = 500;
/**
 * Pause between two steps, so that a walk takes less than a twentieth of Redis' time with any number of keys. A million
 * keys take 50 s.
 */
const STEP_PAUSE_MS = 25;
/** Calls of a workspace that are looked at together. */
const CALLS_A_PAGE = 500;
const MAX_TOLD = 10_000;
/** Pause after a walk that has sent events. The next walk then finds them recorded. */
const SOON_MS = 1_000;

/**
 * Ends calls of a shard that have lost their owner. The sweeper walks all pending calls, and looks up in the
 * ledger those whose session has been gone for `leaseMs` / 4. The ledger's answer drops recorded calls. The sweeper sends the
 * stored events of the others to the event log. A held call ends as `unknown`, and an ended call as it ended.
 * Nothing else changes a balance here, so a mistake about an owner costs only a row that the call's true ending
 * replaces. One owner at a time sweeps a shard.
 */
export function sweepCalls({
  shard: { redis, sessionState, tag },
  absorber,
  eventLog,
  metrics,
  log,
  leaseMs,
}: {
  shard: Pick<Shard, 'redis' | 'sessionState' | 'tag'>;
  absorber: Pick<Absorber, 'absorbCalls'>;
  eventLog: EventLogProducer;
  metrics: Pick<InferenceMetrics, 'holdSwept' | 'alerted'>;
  log: Logger;
  leaseMs: number;
}) {
  const self = randomUUID();
  const claim = defineScript(redis, 'claim');
  const graceMs = leaseMs / 4;
  /** Time at which each session was first seen to be gone. */
  const goneSince = new Map<string, number>();
  /** Calls whose loss of their owner has been logged. */
  const told = new Set<string>();

  /** Whether the walk has sent events, which are to be looked for soon. */
  let hasSent = false;

  async function isMyTurn(): Promise<boolean> {
    if (!sessionState.isOpen) return false;
    if ((await claim([redisKeys.sweeper(tag)], [self, leaseMs])) === 1) return true;
    if ((await redis.get(redisKeys.sweeper(tag))) !== self) return false;
    await redis.pexpire(redisKeys.sweeper(tag), leaseMs);
    return true;
  }

  /** A session that is gone never comes back: its owner has another one by now, if it lives. */
  async function hasLapsed(session: string): Promise<boolean> {
    if ((await redis.exists(redisKeys.session(tag, session))) === 1) {
      goneSince.delete(session);
      return false;
    }
    const since = goneSince.get(session);
    if (since === undefined) goneSince.set(session, performance.now());
    return since !== undefined && performance.now() - since >= graceMs;
  }

  async function sweepPage(workspaceId: string, entries: string[]): Promise<void> {
    const lapsed = new Map<string, string>();
    for (const session of new Set(entries.filter((_, at) => at % 2 === 1)))
      if (await hasLapsed(session))
        for (let at = 0; at < entries.length; at += 2) {
          const callId = entries[at] ?? '';
          if (entries[at + 1] === session) lapsed.set(callId, session);
        }
    if (lapsed.size === 0) return;
    const callIds = [...lapsed.keys()].filter((callId) => isUuid(callId));
    const { deadLetters } = await absorber.absorbCalls([{ workspaceId, callIds, unknownAs: lapsed }]);
    const events: EventRecord[] = [];
    for (const callId of lapsed.keys()) {
      if (deadLetters.has(callId)) continue;
      const event = await readKept(workspaceId, callId);
      if (event) events.push(event);
    }
    if (events.length === 0) return;
    await eventLog.append(usageRecorded.topic, events);
    hasSent = true;
  }

  /** The event of a call that is still pending. */
  async function readKept(workspaceId: string, callId: string): Promise<EventRecord | undefined> {
    try {
      const [kind, key, json, admittedAt] = await redis.hmget(
        redisKeys.call(workspaceId, callId),
        'kind',
        'key',
        'event',
        'admitted_at',
      );
      if (!key || !json) return undefined;
      if (kind === 'ended') return { key, value: json };
      if (!told.has(callId)) {
        if (told.size >= MAX_TOLD) told.clear();
        told.add(callId);
        metrics.holdSwept();
        log.warn({ callId }, 'call had lost its owner: recorded as unknown');
      }
      return { key, value: toUnknownEvent(json, Number(admittedAt)) };
    } catch (error) {
      // Redis away ends the walk; one event that cannot be read does not.
      if (redis.status !== 'ready') throw error;
      log.error({ err: error, callId }, 'ALERT call cannot be swept; the others are');
      metrics.alerted('unreadable_call');
      return undefined;
    }
  }

  async function sweepWorkspace(callsKey: string, signal: AbortSignal): Promise<void> {
    let cursor = '0';
    do {
      const [next, entries] = await redis.hscan(callsKey, cursor, 'COUNT', CALLS_A_PAGE);
      await sweepPage(workspaceOf(callsKey), entries);
      cursor = next;
    } while (cursor !== '0' && !signal.aborted);
  }

  async function sweep(signal: AbortSignal): Promise<void> {
    hasSent = false;
    if (!(await isMyTurn())) return;
    let cursor = '0';
    do {
      const [next, found] = await redis.scan(cursor, 'MATCH', CALLS_PATTERN, 'COUNT', KEYS_A_STEP);
      for (const callsKey of found) await sweepOne(callsKey, signal);
      cursor = next;
      if (cursor !== '0') {
        await redis.pexpire(redisKeys.sweeper(tag), leaseMs);
        await pause(STEP_PAUSE_MS, signal);
      }
    } while (cursor !== '0' && !signal.aborted);
    if (goneSince.size > MAX_TOLD) goneSince.clear();
  }

  /** A workspace that cannot be swept keeps no other from its turn. */
  async function sweepOne(callsKey: string, signal: AbortSignal): Promise<void> {
    try {
      await sweepWorkspace(callsKey, signal);
    } catch (error) {
      if (redis.status !== 'ready') throw error;
      log.warn(
        { err: error, workspaceId: workspaceOf(callsKey) },
        'calls that lost their owner wait for a later round',
      );
    }
  }

  return repeat(sweep, {
    pauseMs: () => (hasSent ? Math.min(SOON_MS, leaseMs / 4) : leaseMs / 4),
    pausesFirst: true,
    log,
    failing: 'sweep was cut short',
  });
}

/** With the instants that it could not have before. */
function toUnknownEvent(json: string, admittedAtMs: number): string {
  const event = parseUsageRecorded(json);
  if (event.startedAtMs !== 0) return json;
  return toUsageRecordedJson({ ...event, startedAtMs: admittedAtMs, endedAtMs: Math.max(Date.now(), admittedAtMs) });
}
