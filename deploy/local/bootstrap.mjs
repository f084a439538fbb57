// Runs one of the project's commands: `node deploy/local/bootstrap.mjs <file.ts> [arguments]`. A fresh clone starts
// with this file. So it is plain JavaScript for any Node from 18 on and imports nothing from npm. It installs missing
// dependencies, generates what is not in git, and hands over to the project's own Node.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const PNPM = 'pnpm@12.21.0';
const OLDEST_NODE = 18;
/** Most characters of an installer's output that are shown. */
const OUTPUT_LIMIT = 64_000;
const DOT_MS = 2_000;
const PARENT_POLL_MS = 500;
const LOCK_POLL_MS = 200;

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const bin = join(root, 'node_modules', '.bin');
const stampFile = join(root, 'node_modules', '.turnpike-installed');
/** The parent at the start, because the parent may end during an installation. */
const { ppid } = process;
/** Hosts that are reached without a proxy: those of the environment, and this machine. */
const noProxy = [process.env.no_proxy ?? process.env.NO_PROXY, 'localhost', '127.0.0.1', '::1']
  .filter(Boolean)
  .join(',');
const env = {
  // Compiles the modules of a command once, which is half of the start of `npm run turnpike`.
  NODE_COMPILE_CACHE: join(root, '.turnpike', 'compile-cache'),
  ...process.env,
  PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
  NO_PROXY: noProxy,
  no_proxy: noProxy,
};

class BootstrapError extends Error {}

/**
 * Does one step of the set-up in one line: its title, dots while it lasts, its duration. Output of installers is shown
 * only if they fail, because on another Node most of it is irrelevant warnings.
 */
async function step(title, work) {
  const startedAt = performance.now();
  process.stderr.write(`${title}…`);
  const dots = setInterval(() => process.stderr.write('.'), DOT_MS);
  try {
    await work();
  } catch (error) {
    process.stderr.write(' failed.\n');
    throw error;
  } finally {
    clearInterval(dots);
  }
  process.stderr.write(` done in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s\n`);
}

/** Runs a command. Rejects with the end of its output and the text that `explain` returns for it. */
function run(command, args, { cwd = root, extraEnv = {}, explain }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...env, ...extraEnv }, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output = (output + text).slice(-OUTPUT_LIMIT);
      });
    }
    child.on('error', (error) => reject(new BootstrapError(explain(error.message))));
    child.on('close', (code) => {
      if (code === 0) resolve();
      else reject(new BootstrapError(`${output.trimEnd()}\n\n${explain(output)}`));
    });
  });
}

/** Returns the `package.json` files of the workspace: those that `pnpm-workspace.yaml` lists, one level deep. */
function listPackageFiles() {
  const groups = ['services', 'libs', 'deploy', 'docs']
    .map((group) => join(root, group))
    .filter((group) => existsSync(group));
  const folders = groups.flatMap((group) => readdirSync(group).map((name) => join(group, name)));
  return [root, join(root, 'test'), join(root, 'bench'), join(root, 'dashboard'), ...folders]
    .map((folder) => join(folder, 'package.json'))
    .filter((file) => existsSync(file))
    .sort();
}

/** Returns a hash of everything that decides an installation. */
function computeStamp() {
  const hash = createHash('sha256');
  const files = [join(root, 'pnpm-lock.yaml'), join(root, 'pnpm-workspace.yaml'), ...listPackageFiles()];
  for (const file of files) hash.update(`${file.slice(root.length)}\n`).update(readFileSync(file));
  return hash.digest('hex');
}

function explainInstall(output) {
  if (/ENOENT.*npx|npx.*ENOENT/.test(output)) {
    return 'npx is missing: install npm (Debian: apt-get install -y npm), then run this again.';
  }
  if (/ENOSPC|no space left/i.test(output)) {
    return `The disk is full: the dependencies need about 1 GB under ${root} and in npm's cache. Make room, then run this again.`;
  }
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|network/i.test(output)) {
    return 'The npm registry is not reachable: the first start needs the network. Check the connection, then run this again.';
  }
  if (/OUTDATED_LOCKFILE|frozen-lockfile/.test(output)) {
    return `A package.json was changed without the lockfile: run "npx ${PNPM} install", then run this again.`;
  }
  return 'Installing the dependencies failed; the lines above say why.';
}

/** Installs the dependencies of the lockfile if they are missing. Resolves true if it did. */
async function ensureDependencies() {
  const stamp = computeStamp();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return false;
  await step('Installing the dependencies (the first time takes a minute)', () =>
    run('npx', ['--yes', PNPM, 'install', '--frozen-lockfile', '--reporter=append-only'], {
      // Without a terminal pnpm refuses to replace the node_modules of another version.
      extraEnv: { CI: 'true' },
      explain: explainInstall,
    }),
  );
  writeFileSync(stampFile, stamp);
  return true;
}

/** Generates each service's database client if it is missing, older than its schema, or made by another generator. */
async function ensureDatabaseClients({ isFreshInstall }) {
  const services = readdirSync(join(root, 'services')).map((name) => join(root, 'services', name));
  const stale = services.filter((service) => {
    const schema = join(service, 'prisma', 'schema.prisma');
    if (!existsSync(schema)) return false;
    const client = join(service, 'src', 'generated', 'client.ts');
    return isFreshInstall || !existsSync(client) || statSync(client).mtimeMs < statSync(schema).mtimeMs;
  });
  if (stale.length === 0) return;
  await step('Generating the database clients', async () => {
    for (const service of stale) await generateDatabaseClient(service);
  });
}

function generateDatabaseClient(service) {
  return run(join(bin, 'prisma'), ['generate', '--schema', 'prisma/schema.prisma'], {
    cwd: service,
    // Only the generator is needed. Without this setting it looks for an engine to download.
    extraEnv: { PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true', PRISMA_HIDE_UPDATE_MESSAGE: '1' },
    explain: () => `Generating the database client of ${service} failed; the lines above say why.`,
  });
}

/**
 * Waits until no other command sets up this copy of the repository, because two at once would remove each other's
 * files. Resolves with the lock, which the caller closes. The lock is a name in the kernel, so no crash leaves it
 * behind. Outside of Linux there are no such names, and nothing is locked.
 */
async function takeSetUpLock() {
  const name = `\0turnpike-set-up-${createHash('sha256').update(root).digest('hex')}`;
  for (let attempt = 1; ; attempt += 1) {
    const lock = createServer();
    const isTaken = await new Promise((resolve) => {
      lock.once('error', ({ code }) => resolve(code === 'EADDRINUSE'));
      lock.listen(name, () => resolve(false));
    });
    if (!isTaken) return lock;
    if (attempt === 1) process.stderr.write('Another command is setting up this copy; waiting for it…\n');
    await pause(LOCK_POLL_MS);
  }
}

/** Hands over to the project's Node, and exits with its code. */
function handOver(args) {
  const child = spawn(join(bin, 'node'), args, { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  child.on('error', (error) => fail(`The project's Node could not be started: ${error.message}`));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (signal === 'SIGINT' ? 2 : 15)));
  // A Ctrl-C in a terminal also reaches the child directly; it treats a repeated signal as one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  if (process.env.npm_lifecycle_event !== undefined) {
    // npm killed with -9 sends no signal. Its children then have another parent, and end too.
    const watch = setInterval(() => {
      if (process.ppid === ppid) return;
      clearInterval(watch);
      child.kill('SIGTERM');
    }, PARENT_POLL_MS);
  }
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

try {
  if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE) {
    throw new BootstrapError(
      `Node ${process.versions.node} is too old to begin with: install Node ${OLDEST_NODE} or later.`,
    );
  }
  const lock = await takeSetUpLock();
  const isFreshInstall = await ensureDependencies();
  await ensureDatabaseClients({ isFreshInstall });
  lock.close();
  handOver(process.argv.slice(2));
} catch (error) {
  fail(error instanceof BootstrapError ? error.message : `Could not set up ${root}: ${error.message}`);
}
