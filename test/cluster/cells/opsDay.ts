import { loadClusterSecrets, toSecretObjects } from '@turnpike/cluster/clusterSecrets';
import { applyObjects } from '@turnpike/cluster/deployScope';
import { type ClusterRegion, readClusterFile } from '@turnpike/cluster/describeCluster';
import { kubectl } from '@turnpike/cluster/kubectl';
import { namespaceOf } from '@turnpike/cluster/paths';
import { signingKeySchema } from '@turnpike/config/internalKeys';
import { REGION_SERVICES } from '@turnpike/config/services';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { createClient } from '@turnpike/internal-api/transport/createClient';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { Redis } from 'ioredis';
import pg from 'pg';
import { createOperator } from '../../faults/stack/operator.ts';
import type { Cell, RegionContext, Suite } from '../cell.ts';
import { isPodReady, listRegionPods } from '../region/pods.ts';
import { getWorkload, untilRolledOut } from '../region/rollout.ts';
import { readEverySecret, readSecret } from '../region/secrets.ts';
import { type Rehearsal, rehearse } from '../runbooks/rehearse.ts';
import { judge } from './rollingUpdate.ts';

const REGION = 'us';
const NAMESPACE = namespaceOf(REGION);
const CALLS_PER_SECOND = 5;
const UNBOUNDED = 1_000_000;
const AUTH_REPLICAS = 2;
const AUTH_REPLICAS_WANTED = 5;
const UNAUTHORIZED = /answered 401/;
const TIMEOUT_MS = 15_000;

export const opsDay: Cell = {
  name: 'ops-day',
  does: `runs the commands of docs/runbooks as they stand there, under ${CALLS_PER_SECOND} calls a second: auth scaled to 5, an engine drained, every secret changed but the object store’s`,
  holds: 'every command ends well and does what its page says, no call fails, and the books are exact',
  async run(suite) {
    const described = (await readClusterFile()).regions[REGION];
    const context = await suite.openBooks(REGION);
    const load = context.startLoad({ calls: UNBOUNDED, perSecond: CALLS_PER_SECOND, openAtMost: 100 });
    try {
      await rehearse(scaleAuth(suite), { suite, region: REGION });
      await rehearse(await drainEngine(suite, context), { suite, region: REGION });
      await rehearse(await rotateSecrets(suite, { context, described }), { suite, region: REGION });
    } finally {
      load.stop();
      await load.done;
      suite.doing('ops-day: putting the secrets back');
      await putSecretsBack(described);
    }
    judge(suite)(context);
  },
};

function scaleAuth({ check }: Suite): Rehearsal {
  const checkReady = async (wanted: number): Promise<void> => {
    const ready = (await listRegionPods(REGION, 'auth')).filter(isPodReady).length;
    check(ready === wanted, `${ready} pods of auth are ready, not ${wanted}`);
  };
  return {
    page: 'scale-auth.md',
    looks: {
      Do: () => checkReady(AUTH_REPLICAS_WANTED),
      'Go back': async () => {
        // Those that go are counted until they have gone.
        await untilRolledOut(REGION, 'auth');
        await checkReady(AUTH_REPLICAS);
      },
    },
  };
}

async function drainEngine({ check, note }: Suite, context: RegionContext): Promise<Rehearsal> {
  const { stack } = context;
  await stack.findSimulators();
  const [pod] = await listRegionPods(REGION, 'engines');
  const [simulator] = stack.simulators;
  if (!pod || !simulator) throw new Error('no pod of engines runs');
  const { name } = pod.metadata;
  return {
    page: 'drain-engine.md',
    variables: { POD: name },
    async prepare(commands) {
      if (!commands.includes('kubectl delete pod')) return;
      await simulator.retire();
      const served = await simulator.listServed(0);
      note(`the engine served ${served.length} calls before it was drained`);
      const running = served.filter(({ state }) => state === 'running').length;
      check(served.length > 0 && running === 0, `${running} calls ran on an engine that had finished what it has`);
    },
    looks: {
      Check: async () => {
        const names = (await listRegionPods(REGION, 'engines')).map(({ metadata }) => metadata.name);
        check(!names.includes(name), 'the pod of the drained engine is still there');
        await stack.findSimulators();
        const others = stack.simulators.filter(({ isRetired }) => !isRetired);
        const since = Date.now();
        await context.until('every engine to serve calls', async () => {
          const served = await Promise.all(others.map((other) => other.listServed(since)));
          return served.every(({ length }) => length > 0);
        });
      },
    },
  };
}

async function rotateSecrets(
  { check }: Suite,
  { context, described }: { context: RegionContext; described: ClusterRegion },
): Promise<Rehearsal> {
  const before = await readEverySecret(REGION);
  const accountBefore = await readSecret('global', 'turnpike-internal', 'INTERNAL_PUBLIC_KEYS');
  const looks: Record<string, () => Promise<void>> = {
    KEY_PEPPERS: async () => {
      const [newest = ''] = (await readSecret(REGION, 'auth', 'KEY_PEPPERS')).split(':');
      const operatorKey = await readSecret(REGION, 'operator', 'INTERNAL_SIGNING_KEY');
      const operator = createOperator(described.services, operatorKey);
      const key = await operator.makeKey(context.account.workspaceId);
      const [row] = await askPostgres(described, 'auth', 'SELECT pepper_id FROM api_key WHERE key_id = $1', [
        key.keyId,
      ]);
      check(row?.pepper_id === newest, `a new key is stored under pepper ${row?.pepper_id}, not ${newest}`);
      const { status } = await context.ask('/svc/key', key.apiKey);
      check(status === 200, `a new key gets ${status}`);
      // Its pepper goes again with the cell.
      await operator.revokeKey(key.keyId);
    },
    CACHE_SALT_KEYS: async () => checkChanged('model-router', 'CACHE_SALT_KEYS'),
    'The Redis password': async () => {
      for (const name of ['edge', 'catalog', 'model-router', 'media-jobs']) await checkChanged(name, 'REDIS_URL');
      await checkChanged('redis', 'REDIS_PASSWORD');
    },
    'A database password': async () => {
      for (const name of ['auth', 'catalog', 'usage-ledger', 'media-jobs', 'migrate-usage-ledger']) {
        await checkChanged(name, 'DATABASE_URL');
        const { hostname } = new URL(described.postgres_url);
        const opens = async (url: string): Promise<boolean> => {
          const client = new pg.Client(url.replace('@postgres:', `@${hostname}:`));
          return client.connect().then(
            () => client.end().then(() => true),
            () => false,
          );
        };
        check(!(await opens(before.get(`${name} DATABASE_URL`) ?? '')), `the old password of ${name} is still taken`);
        check(await opens(await readSecret(REGION, name, 'DATABASE_URL')), `the new password of ${name} is not taken`);
      }
    },
    'Keys of services': async () => {
      await checkChanged('turnpike-internal', 'INTERNAL_PUBLIC_KEYS');
      for (const name of ['operator', ...REGION_SERVICES]) await checkChanged(name, 'INTERNAL_SIGNING_KEY');
      await checkAccountKeys(accountBefore);
      const refusal = await context.stack.operator.listEngines().then(
        () => 'an answer',
        (error: Error) => error.message,
      );
      check(UNAUTHORIZED.test(refusal), `who signs with the old key gets ${refusal}`);
    },
  };
  /** The account layer verifies by the new keys of this region alone, and by the keys of before of all others. */
  async function checkAccountKeys(keysBefore: string): Promise<void> {
    const keys = (await readSecret('global', 'turnpike-internal', 'INTERNAL_PUBLIC_KEYS')).split(',');
    const known = new Set(keysBefore.split(','));
    const isOurs = (key: string): boolean => key.startsWith(`${REGION}/`);
    const ours = keys.filter(isOurs);
    check(ours.length > 0 && !ours.some((key) => known.has(key)), `the account layer has old keys of ${REGION}`);
    const others = [...known].filter((key) => !isOurs(key));
    check(
      others.every((key) => keys.includes(key)),
      'the account layer lost keys of another region',
    );
    const key = signingKeySchema.parse(await readSecret(REGION, 'operator', 'INTERNAL_SIGNING_KEY'));
    const { internal_url: url } = (await readClusterFile()).services['control-plane'];
    const operator = createClient(controlPlaneApi, {
      url,
      internalHeaders: createTokenIssuer({ key }),
      timeoutMs: TIMEOUT_MS,
    });
    const answer = await operator.listDayTotals({ params: { workspace_id: 'none', after: '' } }).then(
      () => 'an answer',
      (error: Error) => error.message,
    );
    check(!UNAUTHORIZED.test(answer), `the account layer gives ${answer} to the new key of the operator`);
  }
  async function checkChanged(name: string, key: string): Promise<void> {
    check((await readSecret(REGION, name, key)) !== before.get(`${name} ${key}`), `${key} of ${name} is as it was`);
  }
  return { page: 'rotate-secrets.md', looks };
}

async function askPostgres(
  { postgres_url: url }: ClusterRegion,
  database: string,
  sql: string,
  values: string[] = [],
): Promise<Record<string, string>[]> {
  const client = new pg.Client(url.replace(/\/postgres$/, `/${database}`));
  await client.connect();
  return client
    .query(sql, values)
    .then(({ rows }) => rows)
    .finally(() => client.end());
}

/** The secrets are again those that the cluster's command keeps, in the stores and in every service. */
async function putSecretsBack(described: ClusterRegion): Promise<void> {
  const clusterSecrets = await loadClusterSecrets();
  const secrets = clusterSecrets[REGION];
  for (const [role, password] of Object.entries(secrets.databasePasswords))
    await askPostgres(described, 'postgres', `ALTER ROLE ${role} PASSWORD '${password}'`);
  const url = new URL(described.redis_url);
  url.password = await readSecret(REGION, 'redis', 'REDIS_PASSWORD');
  const redis = new Redis(url.href, { lazyConnect: true });
  await redis.connect();
  await redis.call('ACL', 'SETUSER', 'default', 'resetpass', `>${secrets.redisPassword}`);
  redis.disconnect();
  for (const scope of [REGION, 'global'] as const) await applyObjects(toSecretObjects(scope, clusterSecrets));
  const workloads = await Promise.all(REGION_SERVICES.map((name) => getWorkload(REGION, name)));
  const names = workloads.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`);
  await kubectl(['rollout', 'restart', ...names, '-n', NAMESPACE]);
  await kubectl(['rollout', 'restart', 'deployment/control-plane', '-n', namespaceOf('global')]);
  for (const name of REGION_SERVICES) await untilRolledOut(REGION, name);
  await kubectl(['rollout', 'status', 'deployment/control-plane', '-n', namespaceOf('global'), '--timeout=180s']);
}
