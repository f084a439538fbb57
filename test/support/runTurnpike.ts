import { spawn } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import type { ReadStream, WriteStream } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { toPartEnvironment } from '@turnpike/local-stack/toPartEnvironment';
import { runOperator } from '../../deploy/operator/src/cli/runOperator.ts';

const PROGRAM = fileURLToPath(new URL('../../deploy/operator/src/main.ts', import.meta.url));
const TIMEOUT_MS = 45_000;

export interface CommandOutcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface TurnpikeOptions {
  stackFile: string;
  /** Answers to what it asks at a terminal; without one there is no terminal. */
  typed?: string;
}

/** Runs the operator's command line as a process of its own, as people do. */
export function runTurnpike(args: string[], { stackFile, typed }: TurnpikeOptions): Promise<CommandOutcome> {
  const command = [process.execPath, PROGRAM, ...args, '--stack', stackFile];
  // script(1) gives a program a terminal of its own; what it prints on either of its outputs then comes out as one.
  const [file = '', ...rest] = typed === undefined ? command : ['script', '-qec', command.join(' '), '/dev/null'];
  const child = spawn(file, rest, { env: toPartEnvironment(), stdio: ['pipe', 'pipe', 'pipe'], timeout: TIMEOUT_MS });
  const outcome = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    outcome.stdout += text;
    if (typed !== undefined && text.includes('Type ')) child.stdin.write(`${typed}\n`);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    outcome.stderr += text;
  });
  if (typed === undefined) child.stdin.end();
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...outcome }));
  });
}

/**
 * Runs a command line in this process, without a terminal, as `main.ts` does in its own process. The start of a process takes ten times
 * as long as a command.
 */
export async function runTurnpikeHere(
  args: string[],
  { stackFile }: Pick<TurnpikeOptions, 'stackFile'>,
): Promise<CommandOutcome> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const outputs = Promise.all([readText(stdout), readText(stderr)]);
  const code = await runOperator({
    args: [...args, '--stack', stackFile],
    env: toPartEnvironment(),
    stdin: new PassThrough().end() as unknown as ReadStream,
    stdout: stdout as unknown as WriteStream,
    stderr: stderr as unknown as WriteStream,
  }).finally(() => {
    stdout.end();
    stderr.end();
  });
  const [said, complained] = await outputs;
  return { code, stdout: said, stderr: complained };
}
