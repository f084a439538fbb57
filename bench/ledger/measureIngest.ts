import { setImmediate } from 'node:timers/promises';
import { consumeFromKafka } from '@turnpike/event-log/consumeFromKafka';
import { consumeFromStore } from '@turnpike/event-log/consumeFromStore';
import { createKafkaProducer } from '@turnpike/event-log/createKafkaProducer';
import type { EventLogConsumer, EventLogProducer, RecordBatch, StoredRecord } from '@turnpike/event-log/eventLog';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson, usageRecorded } from '@turnpike/events/usageRecorded';
import { startTestBroker } from '@turnpike/local-stack/startTestServers';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { createRecordingTelemetry } from '../../services/usage-ledger/src/consumers/recordingTelemetry.ts';
import { getNextOffset, recordUsageBatch } from '../../services/usage-ledger/src/consumers/recordUsageBatch.ts';
import { createEventLogStore } from '../../services/usage-ledger/src/event-log/createEventLogStore.ts';
import { createReaderLeases } from '../../services/usage-ledger/src/event-log/createReaderLeases.ts';
import { silentLog, type TestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';
import { divideRounds, type Figure, NoFigure } from '../figure.ts';
import { median } from '../median.ts';
import { insertBare } from './bareInsert.ts';

/** Event logs by the name of their part: `recording` is one in memory, which costs nothing. */
const OPEN = { recording: openMemory, embedded: openEmbedded, kafka: openKafka };
export const SOURCES = ['recording', 'embedded', 'kafka'] as const;

const ROUNDS = 3;
const BATCHES = 8;
const ROWS_PER_BATCH = 1_000;
const KEYS = 200;
const WORKSPACES = 20;
const WANTED_RATIO = 0.5;
const TIMEOUT_MS = 60_000;
const { topic } = usageRecorded;

/** A log, and how its reader is started. */
interface OpenLog extends Pick<EventLogProducer, 'append'> {
  consume(handle: (batch: RecordBatch) => Promise<void>): Pick<EventLogConsumer, 'close'>;
  close(): Promise<void>;
}

/**
 * Measures rows/s from an event log to the commit, including the read, against a bare INSERT of the same rows. The log is filled before the
 * first read. The time is from the first batch that arrives to the last that is recorded.
 */
export async function measureIngest(
  { db }: TestLedger,
  source: (typeof SOURCES)[number],
  progress: (text: string) => void,
): Promise<Figure> {
  progress(`opening the event log: ${source}`);
  const log = await OPEN[source](db, progress);
  const rows = BATCHES * ROWS_PER_BATCH;
  const rates: Record<'bare' | 'ledger', number[]> = { bare: [], ledger: [] };
  try {
    // The first round warms up.
    for (let round = 0; round <= ROUNDS; round += 1) {
      progress(`${source}, round ${round} of ${ROUNDS}`);
      const batches = Array.from({ length: BATCHES }, makeBatch);
      for (const events of batches)
        await log.append(
          topic,
          events.map((event) => ({ key: event.keyId, value: toUsageRecordedJson(event) })),
        );
      const measureBare = async () => {
        const startedAt = performance.now();
        for (const events of batches) await insertBare(db, events);
        return (rows / (performance.now() - startedAt)) * 1_000;
      };
      // Each goes first every other time, so that neither always meets the warmer machine.
      const early = round % 2 === 0 ? await measureBare() : 0;
      const ledger = await measureReading(db, log, rows);
      const bare = round % 2 === 0 ? early : await measureBare();
      if (round === 0) continue;
      rates.bare.push(bare);
      rates.ledger.push(ledger);
    }
  } finally {
    await log.close();
  }
  const told = (rate: number[]): string => Math.round(median(rate)).toLocaleString('en');
  process.stdout.write(`  ${source}: ${told(rates.ledger)} rows/s, a bare INSERT ${told(rates.bare)} rows/s\n`);
  const what =
    source === 'recording' ? 'of the ledger, with every projection' : `from the ${source} event log to the commit`;
  const name = `rows/s ${what} ÷ a bare INSERT`;
  return { name, rounds: divideRounds(rates.ledger, rates.bare), atLeast: WANTED_RATIO };
}

/** A batch of new calls, spread over 200 keys of 20 workspaces. */
const makeBatch = () =>
  Array.from({ length: ROWS_PER_BATCH }, (_, n) =>
    aUsageRecorded({ keyId: `key_${n % KEYS}`, workspaceId: `ws_${n % WORKSPACES}`, chargeNanoUsd: BigInt(n) }),
  );

/** Rows a second of what the log holds by now. */
async function measureReading(db: TestLedger['db'], log: OpenLog, rows: number): Promise<number> {
  const telemetry = createRecordingTelemetry(noTelemetry);
  const { promise: all, resolve } = Promise.withResolvers<number>();
  let startedAt = 0;
  let read = 0;
  const consumer = log.consume(async (batch) => {
    startedAt ||= performance.now();
    await recordUsageBatch(db, batch, {
      topic,
      region: 'us',
      now: new Date(),
      log: silentLog,
      telemetry,
      mostRecords: new Map(),
    });
    read += batch.records.length;
    if (read >= rows) resolve(performance.now() - startedAt);
  });
  const timer = setTimeout(() => resolve(Number.NaN), TIMEOUT_MS);
  try {
    const ms = await all;
    if (Number.isNaN(ms)) throw new NoFigure(`only ${read} of ${rows} rows came within ${TIMEOUT_MS / 1_000} s`);
    return (rows / ms) * 1_000;
  } finally {
    clearTimeout(timer);
    await consumer.close();
  }
}

/** Batches of one partition as they were appended. */
async function openMemory(): Promise<OpenLog> {
  const batches: RecordBatch[] = [];
  let end = 0n;
  return {
    async append(_topic, events) {
      const fromOffset = end;
      const records = events.map(({ key, value }, n): StoredRecord => {
        return { offset: fromOffset + BigInt(n), key, value: Buffer.from(value) };
      });
      end += BigInt(records.length);
      batches.push({ partition: 0, fromOffset, records, nextOffset: end, isAtEnd: true });
    },
    consume(handle) {
      const read = async (): Promise<void> => {
        for (const batch of batches.splice(0)) await handle(batch);
      };
      const ended = setImmediate().then(read);
      return { close: () => ended };
    },
    close: async () => undefined,
  };
}

async function openEmbedded(db: TestLedger['db']): Promise<OpenLog> {
  const store = createEventLogStore(db);
  const nextOffset = (partition: number) => getNextOffset(db, { topic, partition });
  return {
    append: store.append,
    consume: (handle) => consumeFromStore({ topic, nextOffset, handle, store, log: silentLog }),
    close: async () => undefined,
  };
}

/** A real broker. Throws where there is none to be had. */
async function openKafka(db: TestLedger['db'], progress: (text: string) => void): Promise<OpenLog> {
  const broker = await startTestBroker(progress);
  const options = { brokers: [broker.brokers], copies: 'one' as const, log: silentLog };
  const producer = createKafkaProducer(options);
  const nextOffset = (partition: number) => getNextOffset(db, { topic, partition });
  const leases = createReaderLeases(db, topic);
  return {
    append: producer.append,
    consume: (handle) => consumeFromKafka({ ...options, topic, nextOffset, leases, handle }),
    async close() {
      await producer.close();
      await broker.stop();
    },
  };
}
