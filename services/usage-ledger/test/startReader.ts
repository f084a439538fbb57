import { consumeFromKafka } from '@turnpike/event-log/consumeFromKafka';
import type { EventLogConsumer } from '@turnpike/event-log/eventLog';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { createRecordingTelemetry } from '../src/consumers/recordingTelemetry.ts';
import { getNextOffset, recordUsageBatch } from '../src/consumers/recordUsageBatch.ts';
import { createDb } from '../src/database/createDb.ts';
import { createReaderLeases } from '../src/event-log/createReaderLeases.ts';
import { PATIENCE, silentLog } from './openTestLedger.ts';

export interface ReaderOptions {
  databaseUrl: string;
  brokers: string[];
  topic: string;
}

/** Records a topic of Kafka as a ledger does, one of many that share it. */
export function startReader({ databaseUrl, brokers, topic }: ReaderOptions): EventLogConsumer {
  const db = createDb({ databaseUrl, poolSize: 6, ...PATIENCE });
  const telemetry = createRecordingTelemetry(noTelemetry);
  const consumer = consumeFromKafka({
    topic,
    brokers,
    copies: 'one',
    leases: createReaderLeases(db, topic),
    log: silentLog,
    nextOffset: (partition) => getNextOffset(db, { topic, partition }),
    handle: (batch) =>
      recordUsageBatch(db, batch, {
        topic,
        region: 'us',
        log: silentLog,
        telemetry,
        mostRecords: new Map(),
        now: new Date(),
      }),
  });
  return {
    ...consumer,
    async close() {
      await consumer.close();
      await db.$disconnect();
    },
  };
}
