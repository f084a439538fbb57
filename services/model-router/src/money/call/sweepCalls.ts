import { randomUUID } from 'node:crypto';
import type { EventLogProducer } from '@turnpike/event-log/eventLog';
import { parseUsageRecorded, toUsageRecordedJson, usageRecorded } from '@turnpike/events/usageRecorded';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { Redis } from 'ioredis';
import type { BalanceLoader } from '../balances/loadBalances.ts';
import type { RedisEpoch } from '../redis/redisEpoch.ts';
import { type CallAddress, redisKeys } from '../redis/redisKeys.ts';
import { scanWorkspaces } from '../redis/scanWorkspaces.ts';
import type { CallEndings, SweptCall } from './endCall.ts';

/** Calls looked at in one round; the rest waits for the next. */
const MAX_CALLS_PER_ROUND = 2_000;
const MAX_BATCH = 500;

/** The state of a call whose record is damaged. It stays as it is, and an alert says so. */
const UNREADABLE = 'unreadable';

/** An event that the event log lacks. */
interface Emission {
  address: CallAddress;
  state: SweptCall['state'];
  value: string;
}

/**
 * Finds the calls whose lease has ended, half a lease late at most. A call still held lost its router: its hold is given
 * back and it ends as `unknown`. A settled one only lacks the event log's acknowledgement: its kept event is emitted again.
 * One router sweeps at a time; none does in the first lease of an epoch, when live routers have yet to renew.
 */
export function sweepCalls({
  redis,
  endings,
  balances,
  epoch,
  eventLog,
  metrics,
  log,
  leaseMs,
}: {
  redis: Redis;
  endings: CallEndings;
  balances: Pick<BalanceLoader, 'load'>;
  epoch: Pick<RedisEpoch, 'openForMs' | 'stamp'>;
  eventLog: EventLogProducer;
  metrics: Pick<InferenceMetrics, 'holdSwept' | 'alerted'>;
  log: Logger;
  leaseMs: number;
}) {
  const owner = randomUUID();
  /** By workspace, how many at the front of its calls are unreadable: passed over until a round has come to all the others. */
  const unreadable = new Map<string, number>();

  async function isMyTurn(): Promise<boolean> {
    if (epoch.openForMs < leaseMs) return false;
    if ((await redis.set(redisKeys.sweeper, owner, 'PX', leaseMs, 'NX')) === 'OK') return true;
    if ((await redis.get(redisKeys.sweeper)) !== owner) return false;
    await redis.pexpire(redisKeys.sweeper, leaseMs);
    return true;
  }

  /** Releases the hold, where there is one, whether or not the event log can be reached. */
  async function sweepOne(workspaceId: string, callId: string): Promise<Emission | typeof UNREADABLE | undefined> {
    try {
      return await sweepReadable(workspaceId, callId);
    } catch (error) {
      // Redis away ends the round; one event that cannot be read does not.
      if (redis.status !== 'ready') throw error;
      if (isTimeout(error)) {
        log.warn({ err: error, callId }, 'Redis was slow: the call is swept in a later round');
        return undefined;
      }
      log.error({ err: error, callId }, 'ALERT call cannot be swept; the others are');
      metrics.alerted('unreadable_call');
      return UNREADABLE;
    }
  }

  async function sweepReadable(workspaceId: string, callId: string): Promise<Emission | undefined> {
    const [keyId, json] = await redis.hmget(redisKeys.call(workspaceId, callId), 'key', 'event');
    // A call is swept only if its event can be sent: this throws where it cannot be read.
    if (json) parseUsageRecorded(json);
    // A call without an event has nothing left but its lease. Only Redis itself can say that this is still so.
    const address = { callId, workspaceId, keyId: keyId ?? '' };
    const swept = await endings.sweep(address, leaseMs);
    if (!swept) return undefined;
    if (swept.wasHeld) {
      metrics.holdSwept();
      log.warn({ callId }, 'call had lost its router: hold released, recorded as unknown');
    }
    return { address, state: swept.state, value: toEmittedEvent(swept) };
  }

  /** A swept call is counted in the balances of the epoch, so they have to be loaded first. */
  async function bringBalances(workspaceId: string): Promise<void> {
    const number = await redis.hget(redisKeys.wallet(workspaceId), 'epoch');
    if (number !== String(epoch.stamp.number)) await balances.load(workspaceId);
  }

  /** False when they cannot be had now: this workspace waits for the next round, and keeps no other from its turn. */
  async function hasBalances(workspaceId: string): Promise<boolean> {
    try {
      await bringBalances(workspaceId);
      return true;
    } catch (error) {
      if (redis.status !== 'ready') throw error;
      log.warn({ err: error, workspaceId }, 'calls wait for the balances of their workspace');
      return false;
    }
  }

  async function emit(emissions: Emission[]): Promise<void> {
    const records = emissions.map(({ address, value }) => ({ key: address.keyId, value }));
    await eventLog.append(usageRecorded.topic, records);
    for (const { address, state } of emissions) await endings.forgetSwept(address, state);
  }

  /** Says how many calls were looked at. */
  async function sweepWorkspace(
    workspaceId: string,
    { most, emissions, signal }: { most: number; emissions: Emission[]; signal: AbortSignal },
  ): Promise<number> {
    const passOver = unreadable.get(workspaceId) ?? 0;
    const callIds = await endings.findEndedLeases(workspaceId, { passOver, most });
    if (callIds.length === 0 || !(await hasBalances(workspaceId))) return 0;
    for (const callId of callIds) {
      if (signal.aborted) break;
      const emission = await sweepOne(workspaceId, callId);
      if (emission === UNREADABLE) unreadable.set(workspaceId, (unreadable.get(workspaceId) ?? 0) + 1);
      else if (emission) emissions.push(emission);
    }
    return callIds.length;
  }

  async function sweep(signal: AbortSignal): Promise<void> {
    if (!(await isMyTurn())) return;
    const emissions: Emission[] = [];
    let looked = 0;
    for await (const workspaceIds of scanWorkspaces(redis)) {
      for (const workspaceId of workspaceIds) {
        if (looked >= MAX_CALLS_PER_ROUND) break;
        looked += await sweepWorkspace(workspaceId, { most: MAX_CALLS_PER_ROUND - looked, emissions, signal });
      }
      if (looked >= MAX_CALLS_PER_ROUND) break;
    }
    if (looked < MAX_CALLS_PER_ROUND) unreadable.clear();
    // Only now, so that an event log that is down keeps no hold from being released.
    for (let start = 0; start < emissions.length; start += MAX_BATCH)
      await emit(emissions.slice(start, start + MAX_BATCH));
  }

  return repeat(sweep, { pauseMs: leaseMs / 2, pausesFirst: true, log, failing: 'sweep was cut short' });
}

/** ioredis has neither name nor code for a timeout, only this message. */
const isTimeout = (error: unknown): boolean => error instanceof Error && error.message === 'Command timed out';

/** The kept event of a settled call as it is; that of an unknown one with the instants it could not have before. */
function toEmittedEvent({ eventJson, admittedAtMs }: SweptCall): string {
  const event = parseUsageRecorded(eventJson);
  if (event.startedAtMs !== 0) return eventJson;
  return toUsageRecordedJson({
    ...event,
    startedAtMs: admittedAtMs,
    endedAtMs: Math.max(Date.now(), admittedAtMs),
  });
}
