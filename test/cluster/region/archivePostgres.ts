import { applyObjects } from '@turnpike/cluster/deployScope';
import { kubectl } from '@turnpike/cluster/kubectl';
import { namespaceOf } from '@turnpike/cluster/paths';
import type { Region } from '@turnpike/config/region';
import pg from 'pg';
import { listContainers, runInFiles } from './inContainer.ts';
import { listRegionPods } from './pods.ts';
import { untilRolledOut } from './rollout.ts';

const NAME = 'postgres';
/** The name in `k8s/examples/postgres-restored.yaml`. */
const CLAIM = 'postgres-archive';

/** A region's Postgres that archives its log to a volume. */
export interface ArchivedPostgres {
  /** Copies the files of the server that runs into the archive. */
  copyFiles(): Promise<void>;
  /** Reads the server's clock, in a runbook's format of a moment. */
  readClock(): Promise<string>;
  /** Ends the archiving of Postgres by a restart, and gives the volume up. */
  close(): Promise<void>;
}

/** Makes a region's Postgres archive from now on, by a restart. */
export async function archivePostgres(region: Region, postgresUrl: string): Promise<ArchivedPostgres> {
  const namespace = namespaceOf(region);
  await applyObjects([
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: CLAIM, namespace },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
    },
  ]);
  const setArchive = async (change: object): Promise<void> => {
    const container = {
      name: NAME,
      env: [{ name: 'ARCHIVE_DIR', value: '/archive', ...change }],
      volumeMounts: [{ name: 'archive', mountPath: '/archive', ...change }],
    };
    const volume = { name: 'archive', persistentVolumeClaim: { claimName: CLAIM }, ...change };
    const patch = { spec: { template: { spec: { containers: [container], volumes: [volume] } } } };
    await kubectl(['patch', 'statefulset', NAME, '-n', namespace, '--patch', JSON.stringify(patch)]);
    await untilRolledOut(region, NAME);
  };
  await setArchive({});

  async function withSession<Result>(work: (session: pg.Client) => Promise<Result>): Promise<Result> {
    const session = new pg.Client(postgresUrl);
    await session.connect();
    return work(session).finally(() => session.end());
  }

  return {
    copyFiles: () =>
      withSession(async (session) => {
        const [container] = await listContainers(await listRegionPods(region, NAME));
        if (!container) throw new Error('no pod of Postgres runs');
        const { rows } = await session.query(
          `SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS begun
           FROM pg_backup_start('base', fast => true)`,
        );
        const base = `archive/base/${rows[0].begun}`;
        const left = ['./pg_wal/*', './postmaster.pid', './postmaster.opts'].map((name) => `--exclude='${name}'`);
        // The log repairs files that change during the copy.
        await runInFiles(
          container,
          `mkdir -p "${base}"\ntar -C data/postgres ${left.join(' ')} -cf - . | tar -C "${base}" -xpf -`,
        );
        const label = (await session.query('SELECT labelfile FROM pg_backup_stop()')).rows[0].labelfile;
        await runInFiles(
          container,
          `cat >"${base}/backup_label"\nchown -R --reference=data/postgres archive/base`,
          label,
        );
      }),
    readClock: () =>
      withSession(
        async (session) =>
          (
            await session.query(
              `SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS now`,
            )
          ).rows[0].now,
      ),
    async close() {
      await setArchive({ $patch: 'delete' });
      await kubectl(['delete', 'pvc', CLAIM, '-n', namespace]);
    },
  };
}
