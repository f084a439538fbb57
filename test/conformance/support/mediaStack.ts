import { rm } from 'node:fs/promises';
import { afterAll, beforeAll } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import { orderMediaBackends } from '../../support/mediaBackends.ts';
import { startTestStack, type TestStack } from '../../support/startTestStack.ts';
import { writeMediaCatalog } from './writeMediaCatalog.ts';

/** The one stack of all rows of media: few models, of every kind, and backends that take no time. */
export let stack: TestStack;
/** The table of jobs: rows move their times, because no test waits for a day. */
export let jobTable: pg.Client;
/** The Redis of the balances. */
export let redis: Redis;

/** Backends take no time. */
export const QUICK = { renderBaseMs: 5, msPerFrame: 0 };

/** More than a row makes, and few enough for one to make more. */
const LOOK_UPS_PER_SECOND = 30;

let folder: string | undefined;
beforeAll(async () => {
  const catalog = await writeMediaCatalog();
  folder = catalog.folder;
  stack = await startTestStack({
    kafka: false,
    catalogFile: catalog.served,
    serviceSettings: {
      catalog: { CATALOG_FILE: catalog.listed },
      'media-jobs': { LIMITS: { LOOK_UPS_PER_SECOND } },
    },
  });
  await orderMediaBackends(stack, 'config', { body: QUICK });
  const { postgres_url: url, redis_url: redisUrl } = stack.running.stack.regions.us;
  redis = new Redis(redisUrl);
  jobTable = new pg.Client({ connectionString: url.replace(/\/postgres$/, '/media') });
  await jobTable.connect();
});
afterAll(async () => {
  redis?.disconnect();
  await jobTable?.end();
  await stack?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});
