import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { until } from '@turnpike/test-support/until';
import { describeEventLog } from '../test/eventLogContract.ts';
import { leasesOfOne } from '../test/leasesOfOne.ts';
import { assertDurableTopic } from './assertDurableTopic.ts';
import { consumeFromKafka } from './consumeFromKafka.ts';
import { createKafkaProducer } from './createKafkaProducer.ts';

const log = createLogger({ service: 'event-log-test', level: 'silent' });
const brokers = process.env.KAFKA_BROKERS?.split(',');

if (brokers) {
  describeEventLog('Kafka', () => ({
    newTopic: () => `contract.${randomUUID()}`,
    createProducer: () => createKafkaProducer({ brokers, copies: 'one', log }),
    consume: (options) =>
      consumeFromKafka({ ...options, leases: leasesOfOne(options.nextOffset), brokers, copies: 'one', log }),
  }));

  it('reads on in the other partitions while the batches of four fail for ever', async () => {
    const topic = `poisoned.${randomUUID()}`;
    const producer = createKafkaProducer({ brokers, copies: 'one', log });
    await producer.append(
      topic,
      Array.from({ length: 400 }, (_, n) => ({ key: `key_${n}`, value: String(n) })),
    );
    await producer.close();
    const offsets = new Map<number, bigint>();
    const failing = new Set<number>();
    const nextOffset = async (partition: number) => offsets.get(partition) ?? 0n;
    const consumer = consumeFromKafka({
      topic,
      brokers,
      copies: 'one',
      leases: leasesOfOne(nextOffset),
      log,
      nextOffset,
      async handle({ partition, nextOffset }) {
        if (failing.size < 4) failing.add(partition);
        if (failing.has(partition)) throw new Error('this batch never succeeds');
        offsets.set(partition, nextOffset);
      },
    });
    const ends = await until('the log to answer', () =>
      consumer.endOffsets().then(
        (found) => found.size > 4 && found,
        () => undefined,
      ),
    );
    await until('the others to be read', () =>
      [...ends].every(([partition, end]) => failing.has(partition) || offsets.get(partition) === end),
    );
    await consumer.close();
    expect(failing.size).toBe(4);
  });

  it('stores each of 2,000 concurrent sends at an offset of its own', async () => {
    const topic = `sends.${randomUUID()}`;
    const producer = createKafkaProducer({ brokers, copies: 'one', log });
    const sent = Array.from({ length: 2_000 }, (_, n) => String(n));
    const places = new Map<string, string>();
    const offsets = new Map<number, bigint>();
    const nextOffset = async (partition: number) => offsets.get(partition) ?? 0n;
    const consumer = consumeFromKafka({
      topic,
      brokers,
      copies: 'one',
      leases: leasesOfOne(nextOffset),
      log,
      nextOffset,
      async handle({ partition, records, nextOffset }) {
        for (const { offset, value } of records) places.set(`${partition}/${offset}`, value.toString());
        offsets.set(partition, nextOffset);
      },
    });
    await Promise.all(sent.map((value) => producer.append(topic, [{ key: value, value }])));
    const areAllRead = () => new Set(places.values()).size === sent.length;
    await until(
      'every send to be read',
      async () => areAllRead() && (await consumer.lag().catch(() => undefined)) === 0n,
    );
    await consumer.close();
    await producer.close();

    // A send that was repeated stands twice; none shares a place with another, and none is missing.
    expect(places.size).toBeGreaterThanOrEqual(sent.length);
    expect(new Set(places.values())).toEqual(new Set(sent));
  });

  it('refuses a topic of one copy where several are wanted, and makes none that its brokers cannot copy', async () => {
    const [single, wanted] = [`copies.${randomUUID()}`, `copies.${randomUUID()}`];
    const producer = createKafkaProducer({ brokers, copies: 'one', log });
    await producer.append(single, [{ key: 'a', value: 'b' }]);
    await producer.close();
    await expect(assertDurableTopic(single, { brokers, copies: 'several', log })).rejects.toThrow(
      /1 replicas and must have 2 .*min.insync.replicas is 1 .*STORE_COPIES=one/,
    );
    await expect(assertDurableTopic(wanted, { brokers, copies: 'several', log })).rejects.toThrow(
      /cannot be made with several copies: .*replication.*STORE_COPIES=one/i,
    );
    await assertDurableTopic(single, { brokers, copies: 'one', log });
  });
} else if (process.env.REQUIRE_KAFKA === '1') {
  it('has a Kafka broker to be tested on', () => {
    throw new Error('REQUIRE_KAFKA=1, and KAFKA_BROKERS names no broker');
  });
} else {
  describe.skip('event log contract: Kafka', () => {
    it('needs a broker: set KAFKA_BROKERS', () => {});
  });
  afterAll(() => {
    process.stderr.write('SKIPPED: the Kafka event log was NOT tested, KAFKA_BROKERS names no broker\n');
  });
}

it('keeps nobody from starting where no broker answers', async () => {
  const warned: unknown[] = [];
  const telling = Object.assign(Object.create(log) as typeof log, { warn: (line: unknown) => void warned.push(line) });
  await assertDurableTopic('nowhere', { brokers: ['127.0.0.1:1'], copies: 'several', log: telling });
  expect(warned).toEqual([{ topic: 'nowhere' }]);
});

it('rejects a batch in bounded time when no broker answers', async () => {
  const producer = createKafkaProducer({ brokers: ['127.0.0.1:1'], copies: 'one', log });
  await expect(producer.append('nowhere', [{ key: 'a', value: 'b' }])).rejects.toThrow();
  await producer.close();
});
