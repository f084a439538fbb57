import type { Kafka } from 'kafkajs';

/**
 * Every reader reads all partitions and they race for each, so more partitions let more ledgers record at once. More than are
 * needed cost little; adding some later moves keys.
 */
const PARTITIONS = 12;
/** Longer than any consumer is away, and than any backup of its database is old. */
const RETENTION_MS = 14 * 24 * 60 * 60 * 1000;

/** Creates a topic unless it exists, with as many copies as the brokers' own default says. */
export async function ensureTopic(kafka: Kafka, topic: string): Promise<void> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    const topics = await admin.listTopics();
    if (topics.includes(topic)) return;
    const configEntries = [{ name: 'retention.ms', value: String(RETENTION_MS) }];
    await admin.createTopics({
      topics: [{ topic, numPartitions: PARTITIONS, replicationFactor: -1, configEntries }],
    });
  } finally {
    await admin.disconnect();
  }
}
