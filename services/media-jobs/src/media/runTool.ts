import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';

/** A run of ffmpeg or ffprobe over files of this process. */
export interface ToolRun {
  tool: 'ffmpeg' | 'ffprobe';
  args: readonly string[];
  /** Files that the tool opens as `FILE_1`, `FILE_2` and so on. It learns no other name. */
  files: readonly { fd: number }[];
  limits: ToolLimits;
  signal: AbortSignal;
  /** Called at the end with the CPU time of the run, in milliseconds. */
  onEnd?: ((processorMs: number) => void) | undefined;
}

export interface ToolLimits {
  /** Longest duration of the run. */
  wallMs: number;
  /** CPU time that the kernel grants. */
  cpuSeconds: number;
  /** Memory that the kernel grants, apart from the code of the tool and its libraries. */
  memoryBytes: number;
  /** CPU time, in milliseconds, that a run may take before any decoded output, and for each decoded second. */
  pace?: { floorMs: number; msPerSecond: number };
}

export interface ToolEnd {
  /** `killed` by a limit or a crash. */
  outcome: 'ok' | 'failed' | 'killed' | 'too_slow';
  /** Output of the tool, up to a limit. */
  output: string;
}

export const FILE_1 = '/proc/self/fd/3';
export const FILE_2 = '/proc/self/fd/4';

const MAX_OUTPUT_BYTES = 64 * 1024;
/** Interval of the CPU time checks, and the kernel's unit of CPU time. */
const LOOK_MS = 100;
const TICK_MS = 10;
/** Exit codes of `setpriv` and `prlimit` for a tool that they cannot run. */
const NOT_RUNNABLE = 126;
const NOT_THERE = 127;

/** Arguments of every run: no banner, and errors only. */
const COMMON_ARGS = ['-hide_banner', '-loglevel', 'error'];

/**
 * Starts a tool in a process group of its own, with limits on CPU time and memory. The tool ends with this process and
 * gets none of its environment.
 */
export function spawnTool(
  { tool, args, limits: { cpuSeconds, memoryBytes } }: Pick<ToolRun, 'tool' | 'args' | 'limits'>,
  files: readonly { fd: number }[],
): { child: ChildProcessByStdio<Writable, Readable, Readable>; kill: () => void } {
  const bounds = [`--cpu=${cpuSeconds}`, `--data=${memoryBytes}`, '--core=0'];
  const quiet = tool === 'ffmpeg' ? [...COMMON_ARGS, '-nostats', '-y'] : COMMON_ARGS;
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'prlimit', ...bounds, tool, ...quiet, ...args], {
    stdio: ['pipe', 'pipe', 'pipe', ...files.map(({ fd }) => fd)],
    env: { PATH: process.env.PATH },
    detached: true,
  }) as ChildProcessByStdio<Writable, Readable, Readable>;
  child.stdin.on('error', () => {}); // the tool may end before it has read all input
  child.stderr.resume(); // the tool's complaints may repeat the file's content
  const kill = (): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The tool has ended by itself.
    }
  };
  return { child, kill };
}

/** Returns a function that returns the last `maxBytes` of a stream as text. */
function keepLast(stream: Readable, maxBytes: number): () => string {
  let kept = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-maxBytes);
  });
  return () => kept.toString('utf8');
}

/** Returns the CPU time of a process so far, in milliseconds. Returns undefined if it has ended. */
async function readProcessorMs(pid: number): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The name before the closing parenthesis may have spaces.
  const [, , , , , , , , , , , user, system] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return stat === undefined ? undefined : (Number(user) + Number(system)) * TICK_MS;
}

/**
 * Runs a tool to its end. Rejects with the signal's reason if that fires. Every other end of the tool is an outcome.
 */
export async function runTool(run: ToolRun): Promise<ToolEnd> {
  const { files, limits, signal, onEnd } = run;
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
  let processorMs = 0;
  const looking = setInterval(async () => {
    processorMs = (child.pid && (await readProcessorMs(child.pid))) || processorMs;
    const { pace } = limits;
    if (pace && processorMs > pace.floorMs + pace.msPerSecond * readProgress(output()).seconds) kill();
  }, LOOK_MS);
  try {
    const outcome = await new Promise<ToolEnd['outcome']>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        // A tool that cannot run is not the file's fault.
        if (code === NOT_THERE || code === NOT_RUNNABLE)
          reject(new Error(`${run.tool} cannot be run: it has to be on the path`));
        else resolve(code === 0 ? 'ok' : code === null ? 'killed' : 'failed');
      });
    });
    if (signal.aborted) throw signal.reason;
    return { outcome: isLate ? 'too_slow' : outcome, output: output() };
  } finally {
    clearTimeout(timer);
    clearInterval(looking);
    signal.removeEventListener('abort', kill);
    onEnd?.(processorMs);
  }
}

/** Returns the latest progress in ffmpeg's output, which ffmpeg writes with `-progress pipe:1`. */
export function readProgress(text: string): { frames: number; seconds: number } {
  const last = (name: string): number =>
    Number([...text.matchAll(new RegExp(`^${name}=(\\d+)$`, 'gm'))].at(-1)?.[1] ?? 0);
  return { frames: last('frame'), seconds: last('out_time_us') / 1_000_000 };
}
