import type { EventLogProducer, EventRecord } from '@turnpike/event-log/eventLog';
import { usageRecorded } from '@turnpike/events/usageRecorded';
import type { Redis } from 'ioredis';
import { redisKeys } from '../admission/redisKeys.ts';
import type { EndedCall } from './heldCalls.ts';

const MAX_BATCH = 500;
/** Workspaces asked for at once: few enough for an answer within the deadline of a command. */
const WORKSPACES_AT_ONCE = 100;

export interface PublishKeptEventsOptions {
  redis: Redis;
  eventLog: EventLogProducer;
  /** Events of this router that its spool refused. */
  unspooled: EndedCall[];
}

/**
 * Sends the events that stand beside settled calls in Redis to the event log, whosever calls they are: where a router died
 * with its disk they stand nowhere else, and the balances of the next epoch are built from the log. Repeats change nothing.
 */
export async function publishKeptEvents({ redis, eventLog, unspooled }: PublishKeptEventsOptions): Promise<void> {
  const workspaceIds = await redis.smembers(redisKeys.workspaces);
  await send(
    eventLog,
    unspooled.map(({ event, json }) => ({ key: event.keyId, value: json })),
  );
  for (let start = 0; start < workspaceIds.length; start += WORKSPACES_AT_ONCE) {
    const some = workspaceIds.slice(start, start + WORKSPACES_AT_ONCE);
    const found = await Promise.all(some.map((workspaceId) => findKept(redis, workspaceId)));
    await send(eventLog, found.flat());
  }
}

async function findKept(redis: Redis, workspaceId: string): Promise<EventRecord[]> {
  const callIds = await redis.zrange(redisKeys.calls(workspaceId), 0, -1);
  const records = await Promise.all(
    callIds.map((callId) => redis.hmget(redisKeys.call(workspaceId, callId), 'state', 'key', 'event')),
  );
  return records.flatMap(([state, key, event]) => (state === 'settled' && key && event ? [{ key, value: event }] : []));
}

async function send(eventLog: EventLogProducer, records: EventRecord[]): Promise<void> {
  for (let start = 0; start < records.length; start += MAX_BATCH)
    await eventLog.append(usageRecorded.topic, records.slice(start, start + MAX_BATCH));
}
