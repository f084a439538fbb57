import type { ConsumeFromKafkaOptions } from '@turnpike/event-log/consumeFromKafka';
import type { EventLogStore } from '@turnpike/event-log/consumeFromStore';
import { consumeFromStore } from '@turnpike/event-log/consumeFromStore';
import type { ConsumeOptions, EventLogConsumer } from '@turnpike/event-log/eventLog';
import { type UsageRecorded, usageRecorded } from '@turnpike/events/usageRecorded';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { Db } from '../database/createDb.ts';
import { countDeadLetters } from '../dead-letters/findDeadLetters.ts';
import { createReaderLeases } from '../event-log/createReaderLeases.ts';
import { createRecordingTelemetry } from './recordingTelemetry.ts';
import { getNextOffset, recordUsageBatch } from './recordUsageBatch.ts';

export interface UsageConsumerDependencies {
  db: Db;
  /** For the lease on a share of Kafka's partitions: it is renewed however busy `db` is. */
  leaseDb: Db;
  log: Logger;
  telemetry: Pick<Telemetry, 'meter' | 'tracer'>;
  region: UsageRecorded['region'];
  /** The log to read: a broker's, or the embedded one. */
  source: Pick<ConsumeFromKafkaOptions, 'brokers' | 'copies'> | { store: EventLogStore };
}

/** Reads the topic `usage.recorded.v1` and records its events. Kafka's client is loaded only with a broker. */
export async function consumeUsageRecorded({
  db,
  leaseDb,
  log,
  telemetry,
  region,
  source,
}: UsageConsumerDependencies): Promise<EventLogConsumer> {
  const { topic } = usageRecorded;
  const recording = createRecordingTelemetry(telemetry);
  const mostRecords = new Map<number, number>();
  const options: ConsumeOptions = {
    topic,
    nextOffset: (partition) => getNextOffset(db, { topic, partition }),
    handle: (batch) =>
      recordUsageBatch(db, batch, { topic, region, log, telemetry: recording, mostRecords, now: new Date() }),
  };
  const consumer =
    'store' in source
      ? consumeFromStore({ ...options, store: source.store, log })
      : (await import('@turnpike/event-log/consumeFromKafka')).consumeFromKafka({
          ...options,
          ...source,
          leases: createReaderLeases(leaseDb, topic),
          log,
        });
  recording.observeLag(() => consumer.lag());
  recording.observePartitions(() => consumer.partitions());
  recording.observeDeadLetters(() => countDeadLetters(db));
  return consumer;
}
