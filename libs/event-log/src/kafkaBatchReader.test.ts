import { expect, it } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { Kafka } from 'kafkajs';
import { createBatchReader } from './kafkaBatchReader.ts';

it('takes an assignment that comes once its consumer has ended', async () => {
  const consumer = new Kafka({ brokers: ['127.0.0.1:1'] }).consumer({ groupId: 'ended' });
  expect(() => consumer.pause([{ topic: 'a-topic' }])).toThrow('Consumer group was not initialized');
  const reader = createBatchReader({
    topic: 'a-topic',
    readerId: 'a-reader',
    consumer,
    nextOffset: async () => 0n,
    handle: async () => undefined as never,
    log: aSilentLogger(),
    signal: new AbortController().signal,
  });
  reader.close();
  await reader.begin([0, 1, 2]);
});
