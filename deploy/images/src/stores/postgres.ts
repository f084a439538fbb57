import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { becomeServer, readVariable } from './becomeServer.ts';

// Start script of the Postgres image of `local`: makes the data directory at the first start, then becomes the server. With
// ARCHIVE_DIR the server archives its log there, in `log`. With RESTORE_FROM its first start restores an archive: the newest copy
// in `base` from before RESTORE_TO, and the log up to that moment.

interface Role {
  name: string;
  password: string;
}
/** A database with the name of the role that works with it; `owner` is the role that migrates it, where that is another. */
interface Database extends Role {
  owner?: Role;
}

const BIN = '/opt/postgres/bin';
const DATA_DIR = '/data/postgres';
const PARTIAL_DIR = `${DATA_DIR}.partial`;
const PASSWORD_FILE = `${DATA_DIR}.password`;
const SETTINGS = {
  listen_addresses: '*',
  unix_socket_directories: '',
  max_connections: 200,
  shared_buffers: '64MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/** Made under another name and renamed when complete: a first start that is interrupted leaves nothing half-made. */
function createDataDir(): void {
  const password = readVariable('POSTGRES_PASSWORD');
  const databases: Database[] = JSON.parse(readVariable('DATABASES'));
  rmSync(PARTIAL_DIR, { recursive: true, force: true });
  mkdirSync(PARTIAL_DIR, { mode: 0o700, recursive: true });
  writeFileSync(PASSWORD_FILE, `${password}\n`, { mode: 0o600 });
  const how = [
    '--username=turnpike',
    `--pwfile=${PASSWORD_FILE}`,
    '--auth=scram-sha-256',
    '--no-locale',
    '--encoding=UTF8',
  ];
  run('initdb', [`--pgdata=${PARTIAL_DIR}`, ...how]);
  rmSync(PASSWORD_FILE);
  appendFileSync(`${PARTIAL_DIR}/pg_hba.conf`, 'host all all all scram-sha-256\n');
  run('postgres', ['--single', '-D', PARTIAL_DIR, 'postgres'], databases.flatMap(toStatements).join('\n'));
  renameSync(PARTIAL_DIR, DATA_DIR);
}

/** The copy is recovered when the server starts, which takes connections for reading meanwhile. */
function restoreDataDir(archive: string): void {
  const moment = readVariable('RESTORE_TO');
  const bases = join(archive, 'base');
  const begun = readdirSync(bases).filter((name) => Date.parse(name) < Date.parse(moment));
  const base = begun.sort().at(-1);
  if (!base) {
    process.stderr.write(`${bases} has no copy that was begun before ${moment}.\n`);
    process.exit(1);
  }
  rmSync(PARTIAL_DIR, { recursive: true, force: true });
  cpSync(join(bases, base), PARTIAL_DIR, { recursive: true });
  const settings = {
    restore_command: `${process.execPath} /app/takeLog.js ${join(archive, 'log')}/%f %p`,
    // When the server reads this it knows no names of time zones yet, and Z is one.
    recovery_target_time: moment.replace(/Z$/, '+00'),
    recovery_target_action: 'promote',
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
  appendFileSync(join(PARTIAL_DIR, 'postgresql.auto.conf'), lines.join(''));
  writeFileSync(join(PARTIAL_DIR, 'recovery.signal'), '');
  renameSync(PARTIAL_DIR, DATA_DIR);
}

/** One that has its log archived, each segment once it is whole. */
function toArchiving(archive: string): Record<string, string | number> {
  const folder = join(archive, 'log');
  mkdirSync(folder, { recursive: true });
  return {
    archive_mode: 'on',
    archive_library: 'basic_archive',
    'basic_archive.archive_directory': folder,
    archive_timeout: 60,
  };
}

/** One statement a line, as the single-user server reads them. */
const toStatements = ({ name, password, owner }: Database): string[] => [
  toRoleStatement({ name, password }),
  ...(owner ? [toRoleStatement(owner)] : []),
  `CREATE DATABASE ${toName(name)} OWNER ${toName(owner?.name ?? name)};`,
  `REVOKE ALL ON DATABASE ${toName(name)} FROM PUBLIC;`,
  `GRANT CONNECT ON DATABASE ${toName(name)} TO ${toName(name)};`,
];

const toRoleStatement = ({ name, password }: Role): string =>
  `CREATE ROLE ${toName(name)} LOGIN PASSWORD '${password.replaceAll("'", "''")}';`;

const toName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function run(program: string, args: string[], input = ''): void {
  const { status, error, stdout, stderr } = spawnSync(`${BIN}/${program}`, args, { input, encoding: 'utf8' });
  // The single-user server goes on after a statement that failed, and ends with 0.
  if (status === 0 && !/ERROR|FATAL/.test(stderr)) return;
  process.stderr.write(`${program} failed: ${error?.message ?? `it ended with ${status}`}\n${stdout}${stderr}`);
  process.exit(1);
}

const { ARCHIVE_DIR, RESTORE_FROM } = process.env;
if (!existsSync(DATA_DIR)) {
  if (RESTORE_FROM) restoreDataDir(RESTORE_FROM);
  else createDataDir();
}
// A volume that belongs to a group lets the group write to all files in it, and the server refuses that.
chmodSync(DATA_DIR, 0o700);
const settings = { ...SETTINGS, ...(ARCHIVE_DIR && toArchiving(ARCHIVE_DIR)) };
const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
becomeServer(`${BIN}/postgres`, ['-D', DATA_DIR, ...options]);
