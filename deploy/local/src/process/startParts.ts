import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StackError } from '../stackError.ts';
import { waitFor } from '../waitFor.ts';
import { runToEnd, type Step } from './runToEnd.ts';
import { startReaper } from './startReaper.ts';

/** Longest start of a part. A busy machine that runs several stacks takes up to half of it. */
const READY_TIMEOUT_MS = 90_000;

/** Longest orderly stop of a part before it is killed. */
export const STOP_GRACE_MS = 15_000;

export interface PartCommand {
  name: string;
  /**
   * Order of the stop, the highest layer first; parts of one layer stop together. Default: 0, the layer of stores and
   * engines.
   */
  layer?: number;
  command: string;
  args: string[];
  /** The part's environment, in addition to that of all parts. */
  env?: Record<string, string>;
  /** Signal for an orderly end. Default: SIGTERM. */
  stopSignal?: 'SIGTERM' | 'SIGINT';
  /** Whether the process gets an IPC channel, which closes when the launcher ends. */
  hasChannel?: boolean;
}

export interface Part {
  name: string;
  pid: number;
  logFile: string;
  /** Returns how the process ended, as text; undefined while it runs. */
  endedBy(): string | undefined;
}

export interface PartEnd {
  part: Part;
  /** For instance `ended with code 1`. */
  how: string;
  /** Last lines of its log. */
  logTail: string;
}

/** Formats the end of a part as text, with the end of its log and the log's file. */
export function toPartEndText({ part, how, logTail }: PartEnd): string {
  return `${part.name} ${how}. The end of its log, ${part.logFile}:\n${logTail}`;
}

/** Readiness check of a started part, called repeatedly. A rejection means that the part is not ready. */
export type IsReady = (part: Part) => Promise<boolean>;

export interface Parts {
  /** Starts a process that runs as long as the stack. */
  start(command: PartCommand): Part;
  /**
   * Runs a step of the start-up to its end. Throws the errors of `runToEnd`, and the signal's reason if it is aborted.
   */
  run(what: string, step: Step): Promise<void>;
  /**
   * Resolves when `isReady` returns true. Throws a `StackError` with the end of the log if the part ends first, or if
   * it takes longer than `timeoutMs` (90 s by default). Throws the signal's reason if it is aborted.
   */
  untilReady(part: Part, isReady: IsReady, timeoutMs?: number): Promise<void>;
  /**
   * Starts an ended part again by its command, and resolves when it is ready by the same check. Its log continues in
   * another file. `env` is added to its variables permanently.
   */
  restart(name: string, env?: Record<string, string>): Promise<Part>;
  /**
   * Stops a part if it runs, and starts it like `restart`. Throws a `StackError` that lists the parts if there is no
   * such part.
   */
  replace(name: string): Promise<Part>;
  /** Starts a process by the command of a part, with another name and other variables. Does not wait for readiness. */
  startLike(part: string, other: { name: string; env: Record<string, string> }): Part;
  /** Removes a file after the parts have stopped, even if the launcher is killed. */
  removeAtEnd(file: string): void;
  /** Changes a link to such a file to another stack's file at that time. Removes the link if there is none. */
  unlinkAtEnd(link: string, file: string): void;
  /**
   * Stops every part, the highest layer first, and resolves when no process is left. An aborted `hurry` kills the parts
   * above layer 0 at once. The stores in layer 0 wait for no client, and an orderly stop saves them a recovery.
   */
  stop(hurry?: AbortSignal): Promise<void>;
}

export interface PartsOptions {
  logDir: string;
  /** The environment of every part. */
  env: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Called for every part that ends without a stop. */
  onUnexpectedEnd: (end: PartEnd) => void;
}

/**
 * Runs the processes of one stack. Each is in its own process group, so that a Ctrl-C in the terminal reaches only the
 * launcher. Each writes to its own log file, and none outlives the launcher.
 */
export function startParts({ logDir, env, signal, onUnexpectedEnd }: PartsOptions): Parts {
  mkdirSync(logDir, { recursive: true });
  const reaper = startReaper(env);
  const running: {
    part: Part;
    layer: number;
    exited: Promise<string>;
    stop: (hurry?: AbortSignal) => Promise<void>;
  }[] = [];
  const starts = new Map<string, { command: PartCommand; count: number }>();
  const readiness = new Map<string, { isReady: IsReady; timeoutMs: number }>();
  const replaced = new WeakSet<Part>();
  const stopping = new AbortController();
  const endSignal = signal ? AbortSignal.any([signal, stopping.signal]) : stopping.signal;

  function start(partCommand: PartCommand): Part {
    const { name, layer = 0, command, args, env: partEnv, stopSignal = 'SIGTERM', hasChannel } = partCommand;
    endSignal.throwIfAborted(); // nothing may start behind the back of `stop`
    const count = (starts.get(name)?.count ?? 0) + 1;
    starts.set(name, { command: partCommand, count });
    const logFile = join(logDir, count === 1 ? `${name}.log` : `${name}.${count}.log`);
    const log = openSync(logFile, 'w', 0o600);
    const child = spawn(command, args, {
      detached: true,
      stdio: hasChannel ? ['ignore', log, log, 'ipc'] : ['ignore', log, log],
      env: { ...env, ...partEnv },
    });
    closeSync(log);
    const exited = untilExited(child);
    const { pid } = child;
    let endedBy: string | undefined;
    const part: Part = { name, pid: pid ?? 0, logFile, endedBy: () => endedBy };
    if (pid !== undefined) reaper.tell({ type: 'watch', group: pid, stopSignal });
    void exited.then(async (how) => {
      endedBy = how;
      if (pid !== undefined) reaper.tell({ type: 'forget', group: pid });
      if (!stopping.signal.aborted && !replaced.has(part))
        onUnexpectedEnd({ part, how, logTail: await readLogTail(logFile) });
    });
    running.push({ part, layer, exited, stop: (hurry) => stopChild(child, { stopSignal, exited, hurry }) });
    return part;
  }

  async function untilReady(part: Part, isReady: IsReady, timeoutMs = READY_TIMEOUT_MS): Promise<void> {
    readiness.set(part.name, { isReady, timeoutMs });
    const outcome = await waitFor(
      async () => part.endedBy() ?? ((await isReady(part).catch(() => false)) ? 'ready' : undefined),
      { timeoutMs, signal: endSignal },
    );
    if (outcome === 'ready') return;
    const how = outcome ?? `did not become ready within ${timeoutMs / 1000} s`;
    throw new StackError(toPartEndText({ part, how, logTail: await readLogTail(part.logFile) }));
  }

  async function restart(name: string, env: Record<string, string> = {}): Promise<Part> {
    const { command } = starts.get(name) ?? {};
    const ready = readiness.get(name);
    if (!command || !ready) throw new StackError(`There is no part ${name} that was started before.`);
    // A dead process keeps its pid until it is waited for, and Postgres then refuses its data folder as in use.
    await running.findLast((entry) => entry.part.name === name)?.exited;
    const part = start({ ...command, env: { ...command.env, ...env } });
    await untilReady(part, ready.isReady, ready.timeoutMs);
    return part;
  }

  async function replace(name: string): Promise<Part> {
    const entry = running.findLast(({ part }) => part.name === name);
    if (!entry || !readiness.has(name)) {
      const names = [...readiness.keys()].sort().join(', ');
      throw new StackError(`There is no part ${JSON.stringify(name.slice(0, 64))}. The parts are ${names}.`);
    }
    replaced.add(entry.part);
    if (entry.part.endedBy() === undefined) await entry.stop();
    return restart(name);
  }

  function startLike(part: string, { name, env: otherEnv }: { name: string; env: Record<string, string> }): Part {
    const { command } = starts.get(part) ?? {};
    if (!command) throw new StackError(`There is no part ${part} that was started before.`);
    return start({ ...command, name, env: { ...command.env, ...otherEnv } });
  }

  async function stop(hurry?: AbortSignal): Promise<void> {
    stopping.abort(new StackError('The stack was stopped.'));
    const layers = new Set(running.map((entry) => entry.layer));
    for (const layer of Array.from(layers).sort((a, b) => b - a)) {
      const turn = running.filter((entry) => entry.layer === layer && entry.part.endedBy() === undefined);
      await Promise.all(turn.map((entry) => entry.stop(layer === 0 ? undefined : hurry)));
    }
    await reaper.end();
  }

  return {
    start,
    run: (what, step) => runToEnd(what, { ...step, env: { ...env, ...step.env }, signal: endSignal }),
    untilReady,
    restart,
    replace,
    startLike,
    removeAtEnd: (file) => reaper.tell({ type: 'remove', file }),
    unlinkAtEnd: (link, file) => reaper.tell({ type: 'unlink', link, file }),
    stop,
  };
}

function untilExited(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('exit', (code, signal) => resolve(signal ? `was ended by ${signal}` : `ended with code ${code}`));
  });
}

interface StopOptions {
  stopSignal: NodeJS.Signals;
  exited: Promise<string>;
  hurry: AbortSignal | undefined;
}

/** Stops a process with its signal, and kills its whole group after the grace period, so that no child of it stays. */
async function stopChild(child: ChildProcess, { stopSignal, exited, hurry }: StopOptions): Promise<void> {
  if (child.pid === undefined) return;
  const killGroup = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The group has no process left.
    }
  };
  const timer = setTimeout(killGroup, STOP_GRACE_MS);
  hurry?.addEventListener('abort', killGroup);
  if (hurry?.aborted) killGroup();
  else child.kill(stopSignal);
  await exited;
  hurry?.removeEventListener('abort', killGroup);
  clearTimeout(timer);
}

const TAIL_LINES = 12;
const TAIL_BYTES = 16 * 1024;

/** Returns the last lines of a part's log, indented for a message, or a note if it has none. */
async function readLogTail(logFile: string): Promise<string> {
  const file = await open(logFile).catch(() => undefined);
  if (!file) return '  (it wrote no log)';
  try {
    const { size } = await file.stat();
    const length = Math.min(size, TAIL_BYTES);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    const lines = buffer.toString('utf8').trimEnd().split('\n').slice(-TAIL_LINES);
    return lines.join('') === '' ? '  (its log is empty)' : lines.map((line) => `  ${toReadable(line)}`).join('\n');
  } finally {
    await file.close();
  }
}

/**
 * Returns a line of a service's log in readable form: `17:00:05 error cannot listen port=8080`. Other lines are
 * unchanged.
 */
function toReadable(line: string): string {
  const { time, level, msg, service: _service, scope: _scope, ...facts } = parseEntry(line);
  if (typeof time !== 'string' || typeof level !== 'string' || typeof msg !== 'string') return line;
  const shown = Object.entries(facts).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [time.slice(11, 19), level, msg, ...shown].join(' ');
}

function parseEntry(line: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/**
 * Moves the logs of the last run to `<logDir>-before`, in place of older ones. So the cause of an end can be found even
 * after a new start.
 */
export async function setLogsAside(logDir: string): Promise<void> {
  const before = `${logDir}-before`;
  await rm(before, { recursive: true, force: true });
  try {
    await rename(logDir, before);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
