import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../src/repositoryRoot.ts';
import { waitFor } from '../src/waitFor.ts';

const PROGRAM = join(repositoryRoot, 'deploy/local/src/start.ts');

export interface StartCommand {
  pid: number;
  /** All it has printed so far. */
  output(): string;
  /** Waits until it has printed a text. Rejects with the output if it ends first. */
  untilPrinted(text: string): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Resolves with the exit code, null where a signal ended it. */
  exited: Promise<number | null>;
}

/** Runs `npm start`'s own program, without npm in between. */
export function runStart(args: string[], env: Record<string, string>): StartCommand {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let hasExited = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const exited = once(child, 'close').then(([code]) => {
    hasExited = true;
    return code;
  });
  return {
    pid: child.pid ?? 0,
    output: () => output,
    async untilPrinted(text) {
      const state = await waitFor(async () => (output.includes(text) ? 'printed' : hasExited ? 'ended' : undefined), {
        // Its parts have 90 s, and its models as long again.
        timeoutMs: 200_000,
      });
      if (state !== 'printed') throw new Error(`"${text}" was not printed:\n${output}`);
    },
    signal: (signal) => child.kill(signal),
    exited,
  };
}

/** A process, identified also by its start, because numbers are reused. */
export interface ProcessId {
  pid: number;
  startTicks: string;
  command: string;
}

/** Every process below the given one, at any depth. */
export function listDescendants(ancestor: number): ProcessId[] {
  const all = listProcesses();
  const childrenOf = (pid: number): ProcessId[] =>
    all.filter(({ ppid }) => ppid === pid).flatMap((child) => [child, ...childrenOf(child.pid)]);
  return childrenOf(ancestor);
}

/** Those of the processes that still run. */
export function findSurvivors(processes: ProcessId[]): ProcessId[] {
  const all = listProcesses();
  return processes.filter(({ pid, startTicks }) =>
    all.some((other) => other.pid === pid && other.startTicks === startTicks),
  );
}

function listProcesses(): (ProcessId & { ppid: number })[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        if (fields[0] === 'Z') return []; // the process has ended, but its parent has not waited for it
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return [{ pid: Number(name), ppid: Number(fields[1]), startTicks: fields[19] ?? '', command }];
      } catch {
        return []; // ended while we looked
      }
    });
}
