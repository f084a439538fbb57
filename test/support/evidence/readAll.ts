import type { Region } from '@turnpike/config/region';
import { DATABASE_SERVICES, REGION_DATABASE_SERVICES, SERVICES } from '@turnpike/config/services';
import type { TestStack } from '../startTestStack.ts';
import type { Evidence } from './evidence.ts';
import { readFiles } from './readFiles.ts';
import { readRedis } from './readRedis.ts';
import { readTables } from './readTables.ts';
import { readTopics } from './readTopics.ts';

/** Files of `eu` in the folder of a stack with both regions. All others are of `us` and of the account layer. */
const OF_EU = /^file (eu\/|logs\/eu-)/;

/**
 * Everything that a region keeps: its databases, Redis, the topics of its broker if it has one, and its files. The account layer
 * is read with `us`.
 */
export async function* readAll<Name extends Region>(
  { stateDir, running: { stack } }: TestStack<Name>,
  region: Name,
): AsyncGenerator<Evidence> {
  const { postgres_url: postgresUrl, redis_url: redisUrl, kafka_brokers: brokers } = stack.regions[region];
  const services = region === 'us' ? DATABASE_SERVICES : REGION_DATABASE_SERVICES;
  yield* readTables(
    postgresUrl,
    services.map((service) => SERVICES[service].database.name),
  );
  yield* readRedis(redisUrl);
  if (brokers !== null) yield* readTopics(brokers);
  for await (const file of readFiles(stateDir)) if (OF_EU.test(file.place) === (region === 'eu')) yield file;
}
