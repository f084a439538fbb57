import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** A run of ffmpeg or ffprobe over files of ours. */
export interface ToolRun {
  tool: 'ffmpeg' | 'ffprobe';
  args: readonly string[];
  /** Files that it opens as `FILE_1`, `FILE_2` and so on: it never learns of another name. */
  files: readonly { fd: number }[];
  limits: ToolLimits;
  signal: AbortSignal;
}

export interface ToolLimits {
  /** From start to end, by the clock on the wall. */
  wallMs: number;
  cpuSeconds: number;
}

export interface ToolEnd {
  /** `killed` by a limit or a crash. */
  outcome: 'ok' | 'failed' | 'killed' | 'too_slow';
  /** What it said to us, up to a limit. */
  output: string;
}

export const FILE_1 = '/proc/self/fd/3';
export const FILE_2 = '/proc/self/fd/4';

/** Address space. Its libraries alone take 300 MiB of it. */
const MEMORY_BYTES = 2 * 1024 ** 3;
const MAX_OUTPUT_BYTES = 64 * 1024;
/** What `setpriv` and `prlimit` end with where they cannot run what they are to run. */
const NOT_RUNNABLE = 126;
const NOT_THERE = 127;

/** Nothing is fetched, nobody is asked anything, and what it says stays short. */
const COMMON_ARGS = ['-hide_banner', '-loglevel', 'error'];

/**
 * Starts a tool in a process group of its own, with limits on processor time and memory, that does not outlive this process and sees
 * nothing of its environment.
 */
export function spawnTool(
  { tool, args, limits: { cpuSeconds } }: Pick<ToolRun, 'tool' | 'args' | 'limits'>,
  files: readonly { fd: number }[],
): { child: ChildProcessByStdio<Writable, Readable, Readable>; kill: () => void } {
  const bounds = [`--cpu=${cpuSeconds}`, `--as=${MEMORY_BYTES}`, '--core=0'];
  const quiet = tool === 'ffmpeg' ? [...COMMON_ARGS, '-nostats', '-y'] : COMMON_ARGS;
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'prlimit', ...bounds, tool, ...quiet, ...args], {
    stdio: ['pipe', 'pipe', 'pipe', ...files.map(({ fd }) => fd)],
    env: { PATH: process.env.PATH },
    detached: true,
  }) as ChildProcessByStdio<Writable, Readable, Readable>;
  child.stdin.on('error', () => {}); // it may end before it has read all
  child.stderr.resume(); // what it complains of may repeat what is in the file
  const kill = (): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  };
  return { child, kill };
}

/** The last of what a stream says. */
function keepLast(stream: Readable, maxBytes: number): () => string {
  let kept = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-maxBytes);
  });
  return () => kept.toString('utf8');
}

/** Runs a tool to its end. Rejects with the signal's reason where that fires; whatever else becomes of it is its outcome. */
export async function runTool(run: ToolRun): Promise<ToolEnd> {
  const { files, limits, signal } = run;
  signal.throwIfAborted();
  const { child, kill } = spawnTool(run, files);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    kill();
  }, limits.wallMs);
  signal.addEventListener('abort', kill, { once: true });
  child.stdin.end();
  const output = keepLast(child.stdout, MAX_OUTPUT_BYTES);
  try {
    const outcome = await new Promise<ToolEnd['outcome']>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        // No file is to blame for that.
        if (code === NOT_THERE || code === NOT_RUNNABLE)
          reject(new Error(`${run.tool} cannot be run: it has to be on the path`));
        else resolve(code === 0 ? 'ok' : code === null ? 'killed' : 'failed');
      });
    });
    if (signal.aborted) throw signal.reason;
    return { outcome: isLate ? 'too_slow' : outcome, output: output() };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
  }
}
