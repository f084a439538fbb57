import { randomUUID } from 'node:crypto';
import { until } from '@turnpike/test-support/until';
import kafkajs from 'kafkajs';
import type { Evidence } from './evidence.ts';

/** Every record of every topic of a broker. */
export async function* readTopics(brokers: string): AsyncGenerator<Evidence> {
  const kafka = new kafkajs.Kafka({ brokers: brokers.split(','), logLevel: kafkajs.logLevel.NOTHING });
  const admin = kafka.admin();
  const consumer = kafka.consumer({ groupId: `evidence-${randomUUID()}` });
  try {
    await Promise.all([admin.connect(), consumer.connect()]);
    const topics = (await admin.listTopics()).filter((topic) => !topic.startsWith('__'));
    const offsets = await Promise.all(topics.map((topic) => admin.fetchTopicOffsets(topic)));
    const expected = offsets.flat().reduce((sum, { low, high }) => sum + Number(high) - Number(low), 0);
    const records: Evidence[] = [];
    await consumer.subscribe({ topics, fromBeginning: true });
    await consumer.run({
      async eachMessage({ topic, message: { key, value, headers } }) {
        const bytes = Buffer.concat([key ?? Buffer.of(), value ?? Buffer.of(), Buffer.from(JSON.stringify(headers))]);
        records.push({ place: `topic ${topic}`, bytes });
      },
    });
    await until('all records', async () => (records.length >= expected ? true : undefined), 30_000);
    yield* records;
  } finally {
    await Promise.all([admin.disconnect(), consumer.disconnect()]);
  }
}
