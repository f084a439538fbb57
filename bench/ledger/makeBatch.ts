import type { StoredRecord } from '@turnpike/event-log/eventLog';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';

/** Calls of one partition of the log, as they were and as the log has them. */
export interface UsageBatch {
  events: UsageRecorded[];
  records: StoredRecord[];
}

const KEYS = 200;
const WORKSPACES = 20;

/** A batch of new calls, spread over 200 keys of 20 workspaces. Offsets are the caller's business. */
export function makeBatch(size: number): UsageBatch {
  const events = Array.from({ length: size }, (_, n) =>
    aUsageRecorded({ keyId: `key_${n % KEYS}`, workspaceId: `ws_${n % WORKSPACES}`, chargeNanoUsd: BigInt(n) }),
  );
  const records = events.map((event, n) => ({
    offset: BigInt(n),
    key: event.keyId,
    value: Buffer.from(toUsageRecordedJson(event)),
  }));
  return { events, records };
}
