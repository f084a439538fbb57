import type { EventLogProducer, EventRecord } from '@turnpike/event-log/eventLog';
import { usageRecorded } from '@turnpike/events/usageRecorded';
import type { Redis } from 'ioredis';
import type { EndedCall } from '../call/heldCalls.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { scanWorkspaces } from '../redis/scanWorkspaces.ts';

const MAX_BATCH = 500;
/** Workspaces asked for at once, each for a page of its calls. */
const WORKSPACES_AT_ONCE = 20;
const CALLS_PER_PAGE = 100;

export interface PublishKeptEventsOptions {
  redis: Redis;
  eventLog: EventLogProducer;
  /** Events of this router that its spool refused. */
  unspooled: EndedCall[];
}

/**
 * Sends the events that stand beside settled calls in Redis to the event log, whosever calls they are: where a router died
 * with its disk they stand nowhere else, and the balances of the next epoch are built from the log. Repeats change nothing.
 * They may be very many, as after the log was away: some are read at a time, so that every command has its answer in time.
 */
export async function publishKeptEvents({ redis, eventLog, unspooled }: PublishKeptEventsOptions): Promise<void> {
  for (const some of batchesOf(unspooled)) {
    const records = some.map(({ event, json }) => ({ key: event.keyId, value: json }));
    await eventLog.append(usageRecorded.topic, records);
  }
  for await (const redisKeysOfCalls of findOpenCalls(redis))
    for (const some of batchesOf(redisKeysOfCalls)) {
      const records = await readKept(redis, some);
      if (records.length > 0) await eventLog.append(usageRecorded.topic, records);
    }
}

/** The keys of calls' records, page by page; of a call that is there all the while at least once. */
async function* findOpenCalls(redis: Redis): AsyncGenerator<string[]> {
  for await (const workspaceIds of scanWorkspaces(redis))
    for (const some of batchesOf(workspaceIds, WORKSPACES_AT_ONCE)) {
      let scans = some.map((workspaceId) => ({ workspaceId, cursor: '0' }));
      while (scans.length > 0) {
        const pages = await Promise.all(scans.map((scan) => readPage(redis, scan)));
        yield pages.flatMap(({ found }) => found);
        scans = pages.filter(({ cursor }) => cursor !== '0');
      }
    }
}

async function readPage(redis: Redis, { workspaceId, cursor }: { workspaceId: string; cursor: string }) {
  const [next, leases] = await redis.zscan(redisKeys.calls(workspaceId), cursor, 'COUNT', CALLS_PER_PAGE);
  const callIds = leases.filter((_, index) => index % 2 === 0);
  return { workspaceId, cursor: next, found: callIds.map((callId) => redisKeys.call(workspaceId, callId)) };
}

async function readKept(redis: Redis, redisKeysOfCalls: string[]): Promise<EventRecord[]> {
  const records = await Promise.all(redisKeysOfCalls.map((redisKey) => redis.hmget(redisKey, 'state', 'key', 'event')));
  return records.flatMap(([state, key, event]) => (state === 'settled' && key && event ? [{ key, value: event }] : []));
}

function* batchesOf<Item>(items: Item[], size = MAX_BATCH): Generator<Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
