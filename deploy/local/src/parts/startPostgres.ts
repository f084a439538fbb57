import { existsSync } from 'node:fs';
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Part, Parts } from '../process/startParts.ts';
import { asUnprivileged, UNPRIVILEGED_ID } from './asUnprivileged.ts';
import { findPostgresBinaries } from './findPostgresBinaries.ts';

export interface DatabaseRole {
  name: string;
  password: string;
}

/** A service's own database, which has the name of the service's role. That role may connect to no other. */
export interface ServiceDatabase extends DatabaseRole {
  /** The owner of the database, if that is another role: the migrations run as this one. */
  owner: DatabaseRole | undefined;
}

export interface PostgresOptions {
  parts: Parts;
  dataDir: string;
  /** Whether the data may be lost with the machine. */
  isScratch: boolean;
  port: number;
  /** Password of the superuser `turnpike`. */
  password: string;
  databases: ServiceDatabase[];
}

/**
 * Starts a private Postgres on loopback, making its data directory at the first start, and resolves when it accepts
 * connections. Works for root too, and where the directories above are closed to other users.
 */
export async function startPostgres(options: PostgresOptions): Promise<Part> {
  const { parts, dataDir, isScratch, port } = options;
  const { postgres } = findPostgresBinaries();
  if (!existsSync(dataDir)) await createDataDir(options);
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '64MB',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(isScratch && { fsync: 'off' }),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const part = parts.start({
    name: 'postgres',
    ...asUnprivileged(postgres, ['-D', dataDir, ...flags]),
    stopSignal: 'SIGINT', // the fast shutdown: open sessions are ended, nothing committed is lost
  });
  await parts.untilReady(part, async ({ pid }) =>
    isAccepting(await readFile(join(dataDir, 'postmaster.pid'), 'utf8'), pid),
  );
  return part;
}

/** The server writes its own pid on the first line of its lock file, and its state on the eighth. */
function isAccepting(lockFile: string, pid: number): boolean {
  const lines = lockFile.split('\n');
  return lines[0] === String(pid) && lines[7]?.trim() === 'ready';
}

/**
 * Makes the directory under another name and renames it when complete, so that an interrupted first start leaves nothing half-made. Waits
 * for no disk, because a stalled one would take longer than a step may.
 */
async function createDataDir({ parts, dataDir, password, databases }: PostgresOptions): Promise<void> {
  const { initdb, postgres } = findPostgresBinaries();
  const partialDir = `${dataDir}.partial`;
  const passwordFile = `${dataDir}.password`;
  await rm(partialDir, { recursive: true, force: true });
  await mkdir(dirname(partialDir), { recursive: true });
  await mkdir(partialDir, { mode: 0o700 });
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (process.getuid?.() === 0) {
    await chown(partialDir, UNPRIVILEGED_ID, UNPRIVILEGED_ID);
    await chown(passwordFile, UNPRIVILEGED_ID, UNPRIVILEGED_ID);
  }
  try {
    await parts.run('the creation of the Postgres data directory', {
      ...asUnprivileged(initdb, [
        `--pgdata=${partialDir}`,
        '--username=turnpike',
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--no-locale',
        '--encoding=UTF8',
        '--no-sync',
      ]),
    });
    await parts.run('the creation of the databases', {
      ...asUnprivileged(postgres, ['--single', '-F', '-D', partialDir, 'postgres']),
      input: databases.flatMap(toDatabaseStatements).join('\n'),
    });
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(partialDir, dataDir);
}

/** One statement a line, as the single-user server reads them. Names and passwords are made by the stack itself. */
function toDatabaseStatements({ name, password, owner }: ServiceDatabase): string[] {
  return [
    toRoleStatement({ name, password }),
    ...(owner ? [toRoleStatement(owner)] : []),
    `CREATE DATABASE ${name} OWNER ${owner?.name ?? name};`,
    `REVOKE ALL ON DATABASE ${name} FROM PUBLIC;`,
    `GRANT CONNECT ON DATABASE ${name} TO ${name};`,
  ];
}

const toRoleStatement = ({ name, password }: DatabaseRole): string =>
  `CREATE ROLE ${name} LOGIN PASSWORD '${password}';`;
