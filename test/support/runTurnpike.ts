import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { toPartEnvironment } from '@turnpike/local-stack/toPartEnvironment';

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
