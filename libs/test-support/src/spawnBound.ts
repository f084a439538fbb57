import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';

/** The user without rights that exists on every Linux. */
export const NOBODY = { uid: 65_534, gid: 65_534 };

export interface SpawnBoundOptions {
  /** Whether the process gives up root's rights first. */
  asNobody: boolean;
  cwd: string;
}

/** A child process that does not outlive the test process, however that ends. */
export interface BoundProcess {
  /** Waits for a text in the output. Rejects with the output so far when the process ends first or after `timeoutMs`. */
  untilOutput(text: string, timeoutMs: number): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal and waits until the process is gone. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Longest output kept to explain a failed start. */
const OUTPUT_LIMIT = 64 * 1024;

/** Starts a server whose output is only kept to wait for and to explain a failed start. */
export function spawnBound(file: string, args: string[], options: SpawnBoundOptions): BoundProcess {
  const child = spawn('setpriv', [...privilegesOf(options), file, ...args], {
    cwd: options.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const gone = Promise.withResolvers<void>();
  child.once('exit', () => gone.resolve());
  child.once('error', () => gone.resolve());
  let output = '';
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-OUTPUT_LIMIT);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  return {
    untilOutput: (text, timeoutMs) => untilOutput({ child, file, text, timeoutMs, output: () => output }),
    signal: (signal) => child.kill(signal),
    end(signal) {
      child.kill(signal);
      return gone.promise;
    },
  };
}

/** Runs a command to its end. Rejects with its output when it fails. */
export async function run(file: string, args: string[], options: SpawnBoundOptions): Promise<void> {
  await promisify(execFile)('setpriv', [...privilegesOf(options), file, ...args], { cwd: options.cwd });
}

/** Whether a command runs and succeeds. */
export async function canRun(file: string, args: string[], options: SpawnBoundOptions): Promise<boolean> {
  return run(file, args, options).then(
    () => true,
    () => false,
  );
}

/** SIGQUIT is the hard end for Postgres and for Redis alike; the kernel sends it when the test process is gone. */
function privilegesOf({ asNobody }: SpawnBoundOptions): string[] {
  const user = asNobody ? [`--reuid=${NOBODY.uid}`, `--regid=${NOBODY.gid}`, '--clear-groups'] : [];
  return ['--pdeathsig', 'QUIT', ...user];
}

interface Awaited {
  child: ChildProcess;
  file: string;
  text: string;
  timeoutMs: number;
  output: () => string;
}

function untilOutput({ child, file, text, timeoutMs, output }: Awaited): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (what: string) => () => reject(new Error(`${file} ${what}:\n${output()}`));
  const look = (): void => {
    if (output().includes(text)) resolve();
  };
  const onExit = fail('ended before it was ready');
  const timer = setTimeout(fail(`was not ready within ${timeoutMs} ms`), timeoutMs);
  child.on('exit', onExit).on('error', onExit);
  child.stdout?.on('data', look);
  child.stderr?.on('data', look);
  look();
  return promise.finally(() => {
    clearTimeout(timer);
    child.off('exit', onExit).off('error', onExit);
    child.stdout?.off('data', look);
    child.stderr?.off('data', look);
  });
}
