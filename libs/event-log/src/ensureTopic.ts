import kafkajs, { type Admin, type Kafka } from 'kafkajs';

/**
 * Readers share the partitions, so no more of them than there are partitions can record. More than are needed cost little; adding some
 * later moves keys.
 */
const PARTITIONS = 12;
/** Longer than any consumer is away, and than any backup of its database is old. */
const RETENTION_MS = 14 * 24 * 60 * 60 * 1000;
/** With three, one broker may be away and what is acknowledged is on two all the same. */
const REPLICAS = 3;
const IN_SYNC = 2;

/** `several`: what is acknowledged has to be on two brokers at least. `one`: as many as the brokers' own default says. */
export type Copies = 'one' | 'several';

/** Creates a topic unless it exists, and says in words what one that exists lacks. */
export async function ensureTopic(kafka: Kafka, topic: string, copies: Copies): Promise<string[]> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    const topics = await admin.listTopics();
    if (topics.includes(topic)) return copies === 'one' ? [] : await findLacks(admin, topic);
    await create(admin, topic, copies);
    return [];
  } finally {
    await admin.disconnect();
  }
}

async function create(admin: Admin, topic: string, copies: Copies): Promise<void> {
  const retention = { name: 'retention.ms', value: String(RETENTION_MS) };
  const inSync = { name: 'min.insync.replicas', value: String(IN_SYNC) };
  const [replicationFactor, configEntries] = copies === 'one' ? [-1, [retention]] : [REPLICAS, [retention, inSync]];
  await admin.createTopics({ topics: [{ topic, numPartitions: PARTITIONS, replicationFactor, configEntries }] });
}

async function findLacks(admin: Admin, topic: string): Promise<string[]> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  const replicas = topics.flatMap(({ partitions }) => partitions.map((partition) => partition.replicas.length));
  const fewest = replicas.length > 0 ? Math.min(...replicas) : 0;
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: ['min.insync.replicas'] }],
  });
  const inSync = resources[0]?.configEntries.find(({ configName }) => configName === 'min.insync.replicas');
  return [
    ...(fewest >= IN_SYNC
      ? []
      : [`a partition has ${fewest} replicas and must have ${IN_SYNC} at least, better ${REPLICAS}`]),
    ...(Number(inSync?.configValue) >= IN_SYNC
      ? []
      : [`min.insync.replicas is ${inSync?.configValue ?? 'unknown'} and must be ${IN_SYNC} at least`]),
  ];
}
