import { execFile } from 'node:child_process';
import { appendFile, chown, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { waitFor } from '@turnpike/local-stack/waitFor';
import pg from 'pg';
import type { FaultStack } from './startFaultStack.ts';

const run = promisify(execFile);
/** Longest time from the end of a segment of the log until it is in the archive. */
const ARCHIVED_WITHIN_MS = 20_000;
/** The exit code of tar if a file changed or went during the read, as files of a running server do. */
const CHANGED_WHILE_READ = 1;

/** The means to restore a stack's Postgres as of a moment: a copy of its files, and all of its log since. */
export interface PostgresBackup {
  /** Copies the files of the server that runs. */
  copyFiles(): Promise<void>;
  /** Reads the server's clock. */
  readClock(): Promise<string>;
  /** Ends the open segment of the log, and waits until the archive has it. */
  archiveLog(): Promise<void>;
  /** In place of the files of the server, which is dead, those it had at a moment; it recovers to there when it is started. */
  restore(moment: string): Promise<void>;
}

/** Makes Postgres archive its log from now on, by a restart. */
export async function startPostgresBackup({ dataDir, parts, postgresUrl }: FaultStack): Promise<PostgresBackup> {
  const data = join(dataDir, 'postgres');
  const archive = join(dataDir, 'postgres-log');
  const base = join(dataDir, 'postgres-base.tar');
  const settings = join(data, 'postgresql.auto.conf');
  let label = '';

  const { uid, gid } = await stat(data);
  await mkdir(archive);
  await chown(archive, uid, gid);
  await appendFile(settings, `archive_mode = on\narchive_command = 'test ! -f ${archive}/%f && cp %p ${archive}/%f'\n`);
  await parts.kill('postgres');
  await parts.restart('postgres');

  async function withSession<Result>(work: (session: pg.Client) => Promise<Result>): Promise<Result> {
    const session = new pg.Client(postgresUrl);
    await session.connect();
    return work(session).finally(() => session.end());
  }

  return {
    copyFiles: () =>
      withSession(async (session) => {
        await session.query("SELECT pg_backup_start('base', fast => true)");
        const left = ['./pg_wal/*', './postmaster.pid', './postmaster.opts'].map((name) => `--exclude=${name}`);
        await run('tar', ['-C', data, ...left, '-cf', base, '.']).catch((error) => {
          if (error.code !== CHANGED_WHILE_READ) throw error;
        });
        label = (await session.query('SELECT labelfile FROM pg_backup_stop()')).rows[0].labelfile;
      }),
    readClock: () =>
      withSession(async (session) => (await session.query('SELECT clock_timestamp()::TEXT AS now')).rows[0].now),
    archiveLog: () =>
      withSession(async (session) => {
        const { rows } = await session.query('SELECT pg_walfile_name(pg_switch_wal()) AS segment');
        const isArchived = async (): Promise<true | undefined> => {
          const { last_archived_wal: last } = (await session.query('SELECT * FROM pg_stat_archiver')).rows[0];
          return last >= rows[0].segment || undefined;
        };
        if (!(await waitFor(isArchived, { timeoutMs: ARCHIVED_WITHIN_MS })))
          throw new Error(`segment ${rows[0].segment} of the log is not archived`);
      }),
    async restore(moment) {
      await rm(data, { recursive: true });
      await mkdir(data, { mode: 0o700 });
      await run('tar', ['-C', data, '-xpf', base]);
      await writeFile(join(data, 'backup_label'), label);
      await appendFile(
        settings,
        `restore_command = 'cp ${archive}/%f %p'\nrecovery_target_time = '${moment}'\nrecovery_target_action = promote\n`,
      );
      await writeFile(join(data, 'recovery.signal'), '');
      await run('chown', ['-R', `${uid}:${gid}`, data]);
    },
  };
}
