import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { consumeFromKafka } from './consumeFromKafka.ts';
import { createKafkaProducer } from './createKafkaProducer.ts';
import { describeEventLog } from './eventLogContract.ts';

const log = createLogger({ service: 'event-log-test', level: 'silent' });
const brokers = process.env.KAFKA_BROKERS?.split(',');

if (brokers) {
  describeEventLog('Kafka', () => ({
    newTopic: () => `contract.${randomUUID()}`,
    createProducer: () => createKafkaProducer({ brokers, log }),
    consume: (options) => consumeFromKafka({ ...options, brokers, log, groupId: `contract-${options.topic}` }),
  }));
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

it('rejects a batch in bounded time when no broker answers', async () => {
  const producer = createKafkaProducer({ brokers: ['127.0.0.1:1'], log });
  await expect(producer.append('nowhere', [{ key: 'a', value: 'b' }])).rejects.toThrow();
  await producer.close();
});
