import type { RecordBatch, StoredRecord } from '@turnpike/event-log/eventLog';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { Logger } from '@turnpike/logging/createLogger';
import { type Queryable, retryConflicts } from '@turnpike/postgres/database';
import { isCanceled, isRefused, sqlStateOf } from '@turnpike/postgres/databaseFailure';
import type { Db } from '../database/createDb.ts';
import { type DeadLetter, type Partition, statements } from '../database/statements.ts';
import {
  AheadOfTime,
  callInstantMs,
  type ReadContext,
  readUsageEvent,
  UnreadableRecord,
} from '../ledger/readUsageEvent.ts';
import { ensureUsagePartitions, readTimeOfRecording } from '../ledger/recordUsage.ts';
import type { RecordingTelemetry } from './recordingTelemetry.ts';

/** Another consumer has recorded this batch and has the partition now. */
export class OffsetMoved extends Error {
  override name = 'OffsetMoved';
}

export interface BatchContext extends Pick<ReadContext, 'region'> {
  /** Time on this process' clock. */
  now: Date;
  topic: string;
  log: Logger;
  telemetry: Pick<RecordingTelemetry, 'batchRecorded'>;
  /** Most records of one transaction, by partition, after a larger one passed its deadline. Kept between batches. */
  mostRecords: Map<number, number>;
}

/**
 * Records a batch of the event log. The calls, every total and the partition's offset change in one transaction, so
 * that each event counts once however often it is delivered. Unreadable records become dead letters in the same
 * transaction.
 *
 * Throws `OffsetMoved`, with nothing changed, if another consumer has taken the partition. Throws if the clocks of the
 * database and of this process differ by more than an hour, because such calls are no dead letters. Throws after a
 * transaction past its deadline; the next attempt is half as large.
 */
export async function recordUsageBatch(db: Db, batch: RecordBatch, context: BatchContext): Promise<void> {
  const { mostRecords } = context;
  const { partition, records } = batch;
  const most = mostRecords.get(partition) ?? records.length;
  if (records.length > most) {
    const [first, rest] = splitBatch(batch, most);
    await recordUsageBatch(db, first, context);
    mostRecords.set(partition, 2 * most);
    return recordUsageBatch(db, rest, context);
  }
  try {
    await recordWhole(db, batch, context);
  } catch (error) {
    if (isCanceled(error) && records.length > 1) mostRecords.set(partition, Math.ceil(records.length / 2));
    throw error;
  }
}

async function recordWhole(db: Db, batch: RecordBatch, context: BatchContext): Promise<void> {
  const now = await readTimeOfRecording(db);
  const { events, deadLetters } = readRecords(batch.records, context, now);
  const instants = events.map(({ callId }) => new Date(callInstantMs(callId)));
  await ensureUsagePartitions(db, instants, now);
  try {
    await commit(db, batch, { events, deadLetters, context });
  } catch (error) {
    if (!isRefused(error)) throw error;
    await recordInHalves(db, batch, { error, context });
  }
}

function readRecords(
  records: StoredRecord[],
  { region, now: ownNow }: BatchContext,
  now: Date,
): { events: UsageRecorded[]; deadLetters: DeadLetter[] } {
  const events: UsageRecorded[] = [];
  const deadLetters: DeadLetter[] = [];
  for (const { offset, value } of records) {
    try {
      events.push(readUsageEvent(value, { region, now }));
    } catch (error) {
      if (!(error instanceof UnreadableRecord)) throw error;
      if (error instanceof AheadOfTime && isReadable(value, { region, now: ownNow }))
        throw new Error("the database's clock and this process' are more than an hour apart: set the wrong one", {
          cause: error,
        });
      deadLetters.push({ offset, reason: error.message, payload: value });
    }
  }
  return { events: mergeEvents(events), deadLetters };
}

function isReadable(value: Buffer, context: ReadContext): boolean {
  try {
    readUsageEvent(value, context);
    return true;
  } catch {
    return false;
  }
}

/** Returns the source of a batch for its postings: `topic/partition/first offset`. */
const sourceOf = ({ topic, partition }: Partition, fromOffset: bigint): string => `${topic}/${partition}/${fromOffset}`;

interface ReadBatch {
  events: UsageRecorded[];
  deadLetters: DeadLetter[];
  context: BatchContext;
}

async function commit(db: Db, batch: RecordBatch, { events, deadLetters, context }: ReadBatch): Promise<void> {
  const { topic, log, telemetry } = context;
  const place = { topic, partition: batch.partition };
  const startedAtMs = Date.now();
  const range = { from: batch.fromOffset, to: batch.nextOffset };
  const statement = statements.recordBatch(place, range, {
    source: sourceOf(place, batch.fromOffset),
    events,
    deadLetters,
  });
  const [result] = await retryConflicts(() => db.query(statement));
  if (!result)
    throw new OffsetMoved(`partition ${batch.partition} of ${topic} does not stand at ${range.from} any more`);
  const rows = Number(result.recorded);
  const found = batch.records[0]?.offset ?? batch.fromOffset;
  const isAfterGap = found !== batch.fromOffset;
  telemetry.batchRecorded({ ...place, events, rows, deadLetters: deadLetters.length, isAfterGap, startedAtMs });
  if (isAfterGap) {
    const offsets = { expected: String(batch.fromOffset), found: String(found) };
    log.error({ ...place, ...offsets }, 'ALERT the event log lacks records');
  }
  for (const { offset, reason } of deadLetters) {
    log.error({ ...place, offset: String(offset), reason }, 'ALERT dead letter: a record could not be read');
  }
}

/**
 * Records a batch that Postgres refused, although its records passed the checks here. Halving finds the refused record,
 * and the others are recorded.
 */
async function recordInHalves(
  db: Db,
  batch: RecordBatch,
  { error, context }: { error: unknown; context: BatchContext },
): Promise<void> {
  const { records } = batch;
  const [first] = records;
  if (!first) throw error;
  if (records.length === 1) {
    const deadLetters = [
      { offset: first.offset, reason: `refused by Postgres: ${sqlStateOf(error)}`, payload: first.value },
    ];
    return commit(db, batch, { events: [], deadLetters, context });
  }
  const [former, latter] = splitBatch(batch, Math.ceil(records.length / 2));
  await recordWhole(db, former, context);
  await recordWhole(db, latter, context);
}

/** Splits a batch after `count` records. */
function splitBatch(batch: RecordBatch, count: number): [RecordBatch, RecordBatch] {
  const { records } = batch;
  const offset = records[count]?.offset ?? batch.nextOffset;
  return [
    { ...batch, records: records.slice(0, count), nextOffset: offset },
    { ...batch, records: records.slice(count), fromOffset: offset },
  ];
}

/**
 * Returns one event per call, with the same result as single recordings: the first known outcome, else the first
 * `unknown`.
 */
export function mergeEvents(events: UsageRecorded[]): UsageRecorded[] {
  const merged = new Map<string, UsageRecorded>();
  for (const event of events) {
    const earlier = merged.get(event.callId);
    if (!earlier || (earlier.status === 'unknown' && event.status !== 'unknown')) merged.set(event.callId, event);
  }
  return [...merged.values()];
}

/** Returns the next offset to read; 0 before the first record. */
export async function getNextOffset(db: Queryable, place: Partition): Promise<bigint> {
  const [position] = await db.query(statements.readPosition(place));
  return position?.nextOffset ?? 0n;
}
