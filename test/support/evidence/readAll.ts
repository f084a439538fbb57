import { DATABASE_SERVICES, SERVICES } from '@turnpike/config/services';
import type { StackRegion } from '@turnpike/local-stack/stackFile';
import type { TestStack } from '../startTestStack.ts';
import type { Evidence } from './evidence.ts';
import { readFiles } from './readFiles.ts';
import { readRedis } from './readRedis.ts';
import { readTables } from './readTables.ts';
import { readTopics } from './readTopics.ts';

const DATABASES = DATABASE_SERVICES.map((service) => SERVICES[service].database.name);

/** Everything that a stack keeps: its whole folder, its databases, Redis, and the topics of its broker if it has one. */
export async function* readAll({ stateDir, running }: TestStack): AsyncGenerator<Evidence> {
  const {
    postgres_url: postgresUrl,
    redis_url: redisUrl,
    kafka_brokers: brokers,
  }: StackRegion = running.stack.regions.us;
  yield* readTables(postgresUrl, DATABASES);
  yield* readRedis(redisUrl);
  if (brokers !== null) yield* readTopics(brokers);
  yield* readFiles(stateDir);
}
