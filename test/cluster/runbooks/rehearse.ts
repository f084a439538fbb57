import { readClusterFile } from '@turnpike/cluster/describeCluster';
import { namespaceOf } from '@turnpike/cluster/paths';
import type { Region } from '@turnpike/config/region';
import { entryOf, INTERNAL_SERVICES } from '@turnpike/config/services';
import type { Suite } from '../cell.ts';
import { readSecret } from '../region/secrets.ts';
import { openShell } from './openShell.ts';
import { readRunbook } from './readRunbook.ts';

/** The needs of a page, and the check of its effect. */
export interface Rehearsal {
  page: string;
  variables?: Record<string, string>;
  /** The working copy of the operator, where it is not the repository itself. */
  folder?: string;
  /** Before a block is pasted. */
  prepare?(commands: string): Promise<void>;
  /** When the last block under a heading has ended well, by the heading. */
  looks: Record<string, () => Promise<void>>;
}

/** Pastes a page's blocks into one shell of a region, behind those that all pages want first. Rejects where one of them fails. */
export async function rehearse(
  { page, variables = {}, folder, prepare, looks }: Rehearsal,
  { suite, region }: { suite: Suite; region: Region },
): Promise<void> {
  const startedAt = performance.now();
  const blocks = await readRunbook(page);
  for (const wanted of Object.keys(looks))
    if (!blocks.some(({ heading }) => heading === wanted)) throw new Error(`${page} has no commands under '${wanted}'`);
  const shell = openShell({ ...(await toVariables(region)), ...variables }, folder);
  try {
    for (const { commands } of await readRunbook('README.md')) await shell.paste(commands);
    for (const [index, { heading, commands }] of blocks.entries()) {
      suite.doing(`${page}: ${heading}`);
      await prepare?.(commands);
      await shell.paste(commands);
      if (blocks[index + 1]?.heading !== heading) await looks[heading]?.();
    }
  } finally {
    shell.close();
  }
  suite.note(`${page}: ${blocks.length} blocks in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
}

/** How an operator reaches the region, its fleet and its stores. */
async function toVariables(region: Region): Promise<Record<string, string>> {
  const { services, postgres_url: postgresUrl, redis_url: redisUrl } = (await readClusterFile()).regions[region];
  const postgres = new URL(postgresUrl);
  const redis = new URL(redisUrl);
  return {
    NAMESPACE: namespaceOf(region),
    TURNPIKE_REGION: region,
    INTERNAL_SIGNING_KEY: await readSecret(region, 'operator', 'INTERNAL_SIGNING_KEY'),
    ...Object.fromEntries(
      INTERNAL_SERVICES.map((name) => [`TURNPIKE_${entryOf(name).settings}_INTERNAL_URL`, services[name].internal_url]),
    ),
    PGHOST: postgres.hostname,
    PGUSER: postgres.username,
    PGPASSWORD: postgres.password,
    REDIS_HOST: redis.hostname,
    REDISCLI_AUTH: redis.password,
  };
}
