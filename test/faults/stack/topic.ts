import { usageRecorded } from '@turnpike/events/usageRecorded';
import kafkajs from 'kafkajs';

const { topic } = usageRecorded;
const BATCH = 500;

const connect = (brokers: string) =>
  new kafkajs.Kafka({ brokers: brokers.split(','), logLevel: kafkajs.logLevel.NOTHING });

/** Writes to the topic of completion events, past the router. */
export async function appendEvents(brokers: string, records: readonly { key: string; value: string }[]): Promise<void> {
  const producer = connect(brokers).producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await producer.connect();
  for (let start = 0; start < records.length; start += BATCH)
    await producer.send({ topic, messages: records.slice(start, start + BATCH) });
  await producer.disconnect();
}

/** How many records the topic has. */
export async function countEvents(brokers: string): Promise<number> {
  const admin = connect(brokers).admin();
  await admin.connect();
  const offsets = await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  return offsets.reduce((sum, { high }) => sum + Number(high), 0);
}

/** Takes the topic away with everything in it. Whoever writes next makes it anew. */
export async function deleteTopic(brokers: string): Promise<void> {
  const admin = connect(brokers).admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [topic] });
  await admin.disconnect();
}

/** Every record of the topic, as it was written. */
export async function readEvents(brokers: string): Promise<string[]> {
  const count = await countEvents(brokers);
  const consumer = connect(brokers).consumer({ groupId: `faults-${Date.now()}` });
  const values: string[] = [];
  const { promise: readAll, resolve } = Promise.withResolvers<void>();
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    async eachMessage({ message: { value } }) {
      values.push(value?.toString() ?? '');
      if (values.length >= count) resolve();
    },
  });
  await readAll;
  await consumer.disconnect();
  return values;
}
