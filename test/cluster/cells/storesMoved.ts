import { randomUUID } from 'node:crypto';
import { loadClusterSecrets, toSecretObjects } from '@turnpike/cluster/clusterSecrets';
import { applyObjects } from '@turnpike/cluster/deployScope';
import { readClusterFile } from '@turnpike/cluster/describeCluster';
import { getJson, kubectl } from '@turnpike/cluster/kubectl';
import { namespaceOf } from '@turnpike/cluster/paths';
import { Redis } from 'ioredis';
import pg from 'pg';
import { readCredits, readRows } from '../../faults/books/readLedger.ts';
import type { Cell, RegionContext, Suite } from '../cell.ts';
import { type ArchivedPostgres, archivePostgres } from '../region/archivePostgres.ts';
import { listRegionPods } from '../region/pods.ts';
import { untilRolledOut } from '../region/rollout.ts';
import { type Rehearsal, rehearse } from '../runbooks/rehearse.ts';

/** The region whose event log is Kafka. */
const REGION = 'eu';
const NAMESPACE = namespaceOf(REGION);
const CALLS_PER_SECOND = 5;
const UNBOUNDED = 1_000_000;
const CREDIT_NANO_USD = 7_000_000_000n;
/** Calls between the base backup, the moment and the loss. */
const CALLS_BETWEEN = 30;
const REDIS_NEW = 'redis-new';
const LEDGERS = 2;
const ROWS_BACK_WITHIN_MS = 60_000;

export const storesMoved: Cell = {
  name: 'stores-moved',
  does: `runs the commands of docs/runbooks as they stand there, under ${CALLS_PER_SECOND} calls a second: Redis moves to another server, the ledger’s Postgres is set back to a moment beside the old one, and both go back again`,
  holds:
    'every command ends well and does what its page says, no call is cut or refused with another status than 503, and the books are exact',
  async run(suite) {
    const described = (await readClusterFile()).regions[REGION];
    const archived = await archivePostgres(REGION, described.postgres_url);
    try {
      await startNewRedis();
      const context = await suite.openBooks(REGION);
      const load = context.startLoad({ calls: UNBOUNDED, perSecond: CALLS_PER_SECOND, openAtMost: 100 });
      try {
        await rehearse(await moveRedis(suite, described.redis_url), { suite, region: REGION });
        await context.repaired();
        await rehearse(await restoreLedger(suite, { context, archived, postgresUrl: described.postgres_url }), {
          suite,
          region: REGION,
        });
        await context.repaired();
      } finally {
        load.stop();
        await load.done;
      }
      context.checkOutcomes(context.records, { ok: true, '503': true });
      const refused = context.records.filter(({ outcome }) => outcome !== 'ok').length;
      suite.note(`${context.records.length} calls, ${refused} of them refused with 503`);
    } finally {
      suite.doing('stores-moved: ending the stores that were moved to');
      await putBack();
      await kubectl(['delete', '-n', NAMESPACE, '--ignore-not-found', ...['-f', 'k8s/examples/redis-moving.yaml']]);
      await kubectl([
        'delete',
        '-n',
        NAMESPACE,
        '--ignore-not-found',
        ...['-f', 'k8s/examples/postgres-restored.yaml'],
      ]);
      await kubectl(['delete', '-n', NAMESPACE, '--ignore-not-found', `statefulset/${REDIS_NEW}`]);
      await kubectl([
        'delete',
        'pvc',
        '-n',
        NAMESPACE,
        '--ignore-not-found',
        `data-${REDIS_NEW}-0`,
        'data-postgres-restored-0',
      ]);
      await archived.close();
    }
  },
};

/**
 * Restores the objects that the pages changed. After a page that failed, a store may still be a replica, or a ledger may use
 * another Postgres. Then only a new cluster is complete.
 */
async function putBack(): Promise<void> {
  await applyObjects(toSecretObjects(REGION, await loadClusterSecrets()));
  const selector = { spec: { selector: { 'app.kubernetes.io/name': 'redis' } } };
  await kubectl(['patch', 'service', 'redis', '-n', NAMESPACE, '--patch', JSON.stringify(selector)]);
  await kubectl(['scale', 'deployment/usage-ledger', '-n', NAMESPACE, `--replicas=${LEDGERS}`]);
  await untilRolledOut(REGION, 'usage-ledger');
}

/** Another Redis, as the region's own is. */
async function startNewRedis(): Promise<void> {
  const text = JSON.stringify(await getJson(['get', 'statefulset', 'redis', '-n', NAMESPACE]));
  const { apiVersion, kind, spec } = JSON.parse(
    text.replaceAll('"app.kubernetes.io/name":"redis"', `"app.kubernetes.io/name":"${REDIS_NEW}"`),
  );
  await applyObjects([{ apiVersion, kind, metadata: { name: REDIS_NEW, namespace: NAMESPACE }, spec }]);
  await untilRolledOut(REGION, REDIS_NEW);
}

async function moveRedis({ check }: Suite, redisUrl: string): Promise<Rehearsal> {
  const addressOf = async (app: string): Promise<string> => {
    const [pod] = await listRegionPods(REGION, app);
    if (!pod?.status.podIP) throw new Error(`no pod of ${app} runs`);
    return pod.status.podIP;
  };
  const [oldHost, newHost] = [await addressOf('redis'), await addressOf(REDIS_NEW)];
  const { password } = new URL(redisUrl);
  const roleOf = async (host: string): Promise<string> => {
    const redis = new Redis({ host, password, lazyConnect: true });
    await redis.connect();
    const [role] = (await redis.role()) as unknown as [string];
    redis.disconnect();
    return role;
  };
  const checkPrimary = async (host: string, other: string): Promise<void> => {
    check((await roleOf(host)) === 'master', `${host} has not taken over`);
    check((await roleOf(other)) === 'slave', `${other} is no replica`);
  };
  return {
    page: 'move-redis.md',
    variables: { OLD_HOST: oldHost, NEW_HOST: newHost },
    looks: { Do: () => checkPrimary(newHost, oldHost), 'Go back': () => checkPrimary(oldHost, newHost) },
  };
}

async function restoreLedger(
  { check, note }: Suite,
  { context, archived, postgresUrl }: { context: RegionContext; archived: ArchivedPostgres; postgresUrl: string },
): Promise<Rehearsal> {
  const { ledger, operator } = context.stack;
  const { workspaceId } = context.account;
  const untilSentMore = async (): Promise<void> => {
    const since = context.sent;
    await context.until('more calls to be sent', async () => context.sent >= since + CALLS_BETWEEN);
  };
  await untilSentMore();
  await archived.copyFiles();
  await untilSentMore();
  const moment = await archived.readClock();
  const momentAt = Date.now();
  const creditId = randomUUID();
  const giveCredit = (): Promise<void> => operator.addCredit(workspaceId, CREDIT_NANO_USD, creditId);
  await giveCredit();
  await untilSentMore();
  const rowsBefore = (await readRows(ledger, [workspaceId])).length;

  const restoredPool = async (): Promise<pg.Pool> => {
    const { spec } = (await getJson(['get', 'service', 'postgres-restored', '-n', NAMESPACE])) as {
      spec: { clusterIP: string };
    };
    const url = new URL(postgresUrl.replace(/\/postgres$/, '/ledger'));
    url.hostname = spec.clusterIP;
    return new pg.Pool({ connectionString: url.href, max: 2 }).on('error', () => undefined);
  };
  const hasCredit = async (db: pg.Pool): Promise<boolean> =>
    (await readCredits(db, [workspaceId])).some(({ amount }) => amount === CREDIT_NANO_USD);
  let restored: pg.Pool | undefined;
  return {
    page: 'restore-ledger.md',
    variables: { MOMENT: moment },
    async prepare(commands) {
      // The restored rows are compared before the ledger adds to them.
      if (!commands.includes('put_secret') || restored) return;
      restored = await restoredPool();
      const { length } = await readRows(restored, [workspaceId]);
      check(length > 0 && length < rowsBefore, `of ${rowsBefore} rows ${length} were restored`);
      check(!(await hasCredit(restored)), 'the credit that was given later was restored');
      note(
        `restored to ${((Date.now() - momentAt) / 1_000).toFixed(0)} s before, with ${length} of ${rowsBefore} rows`,
      );
    },
    looks: {
      async Do() {
        const db = restored;
        if (!db) throw new Error('nothing was restored');
        await context.until(
          'the rows to be back',
          async () => (await readRows(db, [workspaceId])).length > rowsBefore,
          ROWS_BACK_WITHIN_MS,
        );
        check(!(await hasCredit(db)), 'the credit came back by itself');
        await giveCredit();
        await giveCredit();
        check(await hasCredit(db), 'the credit is not there, though it was given again');
      },
      'Go back': async () => {
        await restored?.end();
        check(await hasCredit(ledger), 'the credit of before is gone');
        // With its two replicas again: the page waits for them.
        await untilRolledOut(REGION, 'usage-ledger');
      },
    },
  };
}
