import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { pause } from '@turnpike/lifecycle/pause';
import { backoffMs } from '@turnpike/lifecycle/repeat';
import type { Consumer } from 'kafkajs';
import { createKafkaClient, type KafkaClient, type KafkaClientOptions } from './createKafkaClient.ts';
import { createLagMeter, type LagMeter } from './createLagMeter.ts';
import { ensureTopic } from './ensureTopic.ts';
import { BACKOFF, type ConsumeOptions, type EventLogConsumer, type ReaderLeases } from './eventLog.ts';
import { type BatchReader, createBatchReader } from './kafkaBatchReader.ts';
import { keepShare } from './keepShare.ts';

export interface ConsumeFromKafkaOptions extends ConsumeOptions, KafkaClientOptions {
  leases: ReaderLeases;
}

/** Batches of different partitions handled at once. One that fails gives up its turn, so that it holds up no other for long. */
const CONCURRENT_PARTITIONS = 4;

const COLLECT_BYTES = 256 * 1024;
const COLLECT_MS = 100;

const LEAVE_TIMEOUT_MS = 5_000;

/**
 * Reads a topic of Kafka until it is closed. After an outage of the broker or a crash of the client it starts again, at
 * most 5 s later. The handler's database alone has the offsets. None are committed to Kafka.
 * The readers share the partitions by leases, so that each partition is fetched once. A reader renews its lease while
 * Kafka answers. Other readers take over the share of a silent reader within some 4 s, and of a reader that left within
 * a second. Correctness does not depend on a lease, because the handler's database accepts each batch from one reader
 * alone.
 */
export function consumeFromKafka(options: ConsumeFromKafkaOptions): EventLogConsumer {
  const { topic, log } = options;
  const client = createKafkaClient(options);
  const lag = createLagMeter(client.kafka, options);
  const stop = new AbortController();
  const readers: Readers = { current: undefined };
  const run = { signal: stop.signal, readers, lag, readerId: randomUUID() };
  const reading = readUntilStopped(client, options, run);
  return {
    lag: lag.measure,
    endOffsets: lag.endOffsets,
    partitions: () => readers.current?.partitions() ?? 0,
    // One that is only now made asks for its place anyway.
    goBack: async () => readers.current?.goBack(),
    async close() {
      log.debug({ topic }, 'stopping to read');
      stop.abort();
      await Promise.all([reading, lag.close()]);
    },
  };
}

/** The reader of the client that runs; undefined between two. */
interface Readers {
  current: BatchReader | undefined;
}

interface Run {
  signal: AbortSignal;
  readers: Readers;
  lag: LagMeter;
  readerId: string;
}

/**
 * Loops by itself instead of with `repeat`, because a run lasts as long as the broker does and its end is no sign of
 * success.
 */
async function readUntilStopped(client: KafkaClient, options: ConsumeFromKafkaOptions, run: Run): Promise<void> {
  const { topic, log } = options;
  const { signal } = run;
  let failures = 0;
  while (!signal.aborted) {
    try {
      await readUntilCrash(client, options, { ...run, onRunning: () => (failures = 0) });
    } catch (error) {
      log.warn({ err: error, topic }, 'event log not read, trying again');
      await pause(backoffMs(failures, BACKOFF), signal);
      failures += 1;
    }
  }
}

async function readUntilCrash(
  { kafka, endSilent }: KafkaClient,
  options: ConsumeFromKafkaOptions,
  { signal, readers, lag, readerId, onRunning }: Run & { onRunning: () => void },
): Promise<void> {
  const { topic, copies, log } = options;
  const lacks = (await ensureTopic(kafka, topic, copies)).join('; ');
  if (lacks !== '') log.error({ topic, lacks }, 'ALERT the event log may lose records');
  const consumer = kafka.consumer({
    // Its own, and a new one each time: nobody's absence is waited for. The broker forgets a group that was left.
    groupId: `${topic}.${randomUUID()}`,
    sessionTimeout: 30_000,
    heartbeatInterval: 3_000,
    maxBytesPerPartition: 1024 * 1024,
    // Collects records into larger batches, because a transaction of many records takes little more time than one of a
    // few.
    minBytes: COLLECT_BYTES,
    maxWaitTimeInMs: COLLECT_MS,
    allowAutoTopicCreation: false,
    // Every crash comes to us: kafkajs itself restarts after some and not after others.
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 3, restartOnFailure: async () => false },
  });
  consumer.on(consumer.events.REQUEST_TIMEOUT, endSilent);
  const reader = createBatchReader({ ...options, readerId, consumer, signal });
  readers.current = reader;
  const session = new AbortController();
  const stopped = whenAborted(signal, session.signal);
  const crash = Promise.withResolvers<never>();
  crash.promise.catch(() => {});
  let giveUpShare = async (): Promise<void> => {};
  consumer.on(consumer.events.CRASH, ({ payload }) => crash.reject(payload.error));
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => void reader.begin(payload.memberAssignment[topic] ?? []));
  try {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    const running = consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: CONCURRENT_PARTITIONS,
      eachBatch: reader.readBatch,
    });
    await Promise.race([running, stopped]);
    onRunning();
    giveUpShare = keepShare(reader, { ...options, readerId, lag });
    await Promise.race([crash.promise, stopped]);
  } finally {
    session.abort();
    readers.current = undefined;
    reader.close();
    // At once: what this reader is still about to record may be recorded by another.
    await Promise.all([giveUpShare(), disconnect(consumer)]);
  }
}

/** Resolves when `signal` fires, or when `end` does and nobody waits any more. */
async function whenAborted(signal: AbortSignal, end: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort', { signal: end }).catch(() => {});
}

/** Leaves the group in order, unless that takes too long. */
async function disconnect(consumer: Consumer): Promise<void> {
  await Promise.race([consumer.disconnect().catch(() => {}), delay(LEAVE_TIMEOUT_MS, undefined, { ref: false })]);
}
