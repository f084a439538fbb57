import kafkajs from 'kafkajs';
import { createKafkaClient, type KafkaClientOptions } from './createKafkaClient.ts';
import { ensureTopic } from './ensureTopic.ts';
import type { EventLogProducer } from './eventLog.ts';

/** Acknowledged by every replica that is in sync. */
const ACKS_ALL = -1;
const ACK_TIMEOUT_MS = 8_000;
/** Some seconds of trying: a broker may know of a topic before it leads its partitions. */
const RETRY = { initialRetryTime: 200, maxRetryTime: 1_000, retries: 6 };

/**
 * Appends to Kafka with `acks=all`; records of one key go to one partition. Connects with the first batch, and again after
 * an outage; a batch that cannot be stored is rejected within about a minute. Not kafkajs' idempotent mode, which has lost
 * acknowledged records: repeats are sorted out by the events' own ids.
 */
export function createKafkaProducer(options: KafkaClientOptions): EventLogProducer {
  const { kafka, endSilent } = createKafkaClient(options);
  const producer = kafka.producer({
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    allowAutoTopicCreation: false,
    retry: RETRY,
  });
  producer.on(producer.events.REQUEST_TIMEOUT, endSilent);
  const preparing = new Map<string, Promise<void>>();

  async function prepare(topic: string): Promise<void> {
    await producer.connect();
    await ensureTopic(kafka, topic, options.copies);
  }

  return {
    async append(topic, records) {
      const prepared = preparing.get(topic) ?? prepare(topic);
      preparing.set(topic, prepared);
      try {
        await prepared;
        await producer.send({ topic, messages: records, acks: ACKS_ALL, timeout: ACK_TIMEOUT_MS });
      } catch (error) {
        // The topic may be gone, or the connection was never made: the next batch looks again.
        preparing.delete(topic);
        throw error;
      }
    },
    close: () => producer.disconnect(),
  };
}
