import { execFileSync, spawn } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/** Folders that a container may write to, as a cluster mounts volumes there; all else is read-only. */
const WRITABLE = ['/data', '/tmp', '/run'];
const STOP_MS = 15_000;

export interface StartOptions {
  env: Record<string, string>;
  /** In place of the image's own. */
  args?: string[];
  /** Contents of files below the writable folders, by their paths. */
  files?: Record<string, string>;
}

export interface StartedImage {
  /** What it has written to its output and its errors so far. */
  output(): string;
  /** Where a path below the writable folders lies on this machine. */
  pathOf(path: string): string;
  residentBytes(): number;
  /** Its exit code, once it has ended. */
  ended: Promise<number | null>;
  /** Ends it by the image's own signal where it still runs, removes what it left, and resolves with its exit code. */
  stop(): Promise<number | null>;
}

/**
 * Starts an image from its archive in a container of runc, with the image's own user and command and nothing else: no rights, a
 * read-only root, and this process' network. Wants root and runc.
 */
export function startImage(archive: string, { env, args, files = {} }: StartOptions): StartedImage {
  const bundle = mkdtempSync(join(tmpdir(), 'turnpike-image-'));
  const config = unpack(archive, bundle);
  const uid = Number(config.User.split(':')[0]);
  const pathOf = (path: string) => join(bundle, 'volumes', path);
  for (const place of WRITABLE) {
    mkdirSync(pathOf(place), { recursive: true });
    chownSync(pathOf(place), uid, uid);
  }
  for (const [path, text] of Object.entries(files)) writeFileSync(pathOf(path), text);
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(toRuntimeSpec(config, { bundle, env, args, uid })));
  const id = basename(bundle);
  const pidFile = join(bundle, 'pid');
  const runc = (args: string[]) => ['--root', join(bundle, 'state'), ...args];
  const child = spawn('runc', runc(['run', '--bundle', bundle, '--pid-file', pidFile, id]), {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  child.once('error', (error) => {
    output += error.message;
  });
  const tell = (signal: string) => spawn('runc', runc(['kill', id, signal]), { stdio: 'ignore' });
  return {
    output: () => output,
    pathOf,
    residentBytes: () => readResidentBytes(readFileSync(pidFile, 'utf8')),
    ended,
    async stop() {
      if (child.exitCode === null) tell(config.StopSignal);
      const late = setTimeout(() => tell('SIGKILL'), STOP_MS);
      const code = await ended;
      clearTimeout(late);
      rmSync(bundle, { recursive: true, force: true });
      return code;
    },
  };
}

const readResidentBytes = (pid: string): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

interface Config {
  User: string;
  WorkingDir: string;
  Entrypoint: string[];
  Cmd: string[];
  Env: string[];
  StopSignal: string;
}

/** Unpacks the layers of an archive over each other into `<folder>/rootfs`. */
function unpack(archive: string, folder: string): Config {
  const [blobs, root] = [join(folder, 'image'), join(folder, 'rootfs')];
  for (const place of [blobs, root]) mkdirSync(place);
  execFileSync('tar', ['-xf', archive, '-C', blobs]);
  const read = (digest: string) => JSON.parse(readFileSync(join(blobs, 'blobs', digest.replace(':', '/')), 'utf8'));
  const index = JSON.parse(readFileSync(join(blobs, 'index.json'), 'utf8'));
  const manifest = read(index.manifests[0].digest);
  for (const { digest } of manifest.layers)
    execFileSync('tar', ['-xpf', join(blobs, 'blobs', digest.replace(':', '/')), '-C', root]);
  const { config } = read(manifest.config.digest);
  rmSync(blobs, { recursive: true });
  return config;
}

interface Run {
  bundle: string;
  env: Record<string, string>;
  args: string[] | undefined;
  uid: number;
}
const toRuntimeSpec = (config: Config, { bundle, env, args = config.Cmd, uid }: Run) => ({
  ociVersion: '1.0.2',
  process: {
    user: { uid, gid: uid },
    args: [...config.Entrypoint, ...args],
    env: [...config.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
    cwd: config.WorkingDir,
    capabilities: {},
    noNewPrivileges: true,
  },
  root: { path: 'rootfs', readonly: true },
  mounts: [
    { destination: '/proc', type: 'proc', source: 'proc' },
    { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
    { destination: '/dev/shm', type: 'tmpfs', source: 'shm', options: ['nosuid', 'nodev', 'mode=1777'] },
    ...WRITABLE.map((place) => ({ destination: place, source: join(bundle, 'volumes', place), options: ['bind'] })),
  ],
  linux: { namespaces: ['pid', 'ipc', 'mount'].map((type) => ({ type })) },
});
