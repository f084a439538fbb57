import { expect, it } from '@jest/globals';
import type { Kafka } from 'kafkajs';
import { ensureTopic } from './ensureTopic.ts';

/** Brokers that know one topic, or none. */
function kafkaWith(known: { replicas: number[]; inSync: string } | undefined) {
  const created: unknown[] = [];
  const admin = {
    connect: async () => {},
    disconnect: async () => {},
    listTopics: async () => (known ? ['calls'] : []),
    createTopics: async ({ topics }: { topics: unknown[] }) => created.push(...topics),
    fetchTopicMetadata: async () => ({
      topics: [{ partitions: known?.replicas.map((count) => ({ replicas: Array(count).fill(1) })) }],
    }),
    describeConfigs: async () => ({
      resources: [{ configEntries: [{ configName: 'min.insync.replicas', configValue: known?.inSync }] }],
    }),
  };
  return { created, kafka: { admin: () => admin } as unknown as Kafka };
}

it('makes a topic whose records are on two brokers before they are acknowledged, and on three soon', async () => {
  const { kafka, created } = kafkaWith(undefined);
  expect(await ensureTopic(kafka, 'calls', 'several')).toEqual([]);
  expect(created).toMatchObject([
    {
      topic: 'calls',
      replicationFactor: 3,
      configEntries: expect.arrayContaining([{ name: 'min.insync.replicas', value: '2' }]),
    },
  ]);
});

it('leaves the copies of a topic to the brokers where one is enough, and asks nothing of one that exists', async () => {
  const { kafka, created } = kafkaWith(undefined);
  expect(await ensureTopic(kafka, 'calls', 'one')).toEqual([]);
  expect(created).toMatchObject([{ replicationFactor: -1 }]);
  const single = kafkaWith({ replicas: [1], inSync: '1' });
  expect(await ensureTopic(single.kafka, 'calls', 'one')).toEqual([]);
  expect(single.created).toEqual([]);
});

it.each([
  [[3, 3], '2', []],
  [[2, 2], '2', []],
  [[3, 1], '2', [expect.stringMatching('1 replicas')]],
  [[3, 3], '1', [expect.stringMatching('min.insync.replicas is 1')]],
  [[1], '1', [expect.stringMatching('1 replicas'), expect.stringMatching('min.insync.replicas')]],
])('says what a topic of %j replicas, of which %s must be in sync, lacks', async (replicas, inSync, lacks) => {
  const { kafka, created } = kafkaWith({ replicas, inSync });
  expect(await ensureTopic(kafka, 'calls', 'several')).toEqual(lacks);
  expect(created).toEqual([]);
});
