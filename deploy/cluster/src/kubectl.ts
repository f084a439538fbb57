import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { StackError } from '@turnpike/local-stack/stackError';
import { BIN, KUBECONFIG } from './paths.ts';

/** The command as a person types it, without the path of the program. */
export const toCommandLine = (args: readonly string[]): string => `kubectl ${args.join(' ')}`;

/**
 * Runs kubectl against the cluster and resolves with its output. Throws a `StackError` with its error output if it fails.
 * `input` goes to its standard input.
 */
export async function kubectl(args: readonly string[], input = ''): Promise<string> {
  const child = spawn(`${BIN}/kubectl`, ['--kubeconfig', KUBECONFIG, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => undefined); // the exit code reports the failure
  child.stdin.end(input);
  const code = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), code]);
  if (exitCode !== 0) throw new StackError(`${toCommandLine(args)} failed: ${stderr.trim()}`);
  return stdout;
}

/** The same, of what it prints with `-o json`. */
export async function getJson(args: readonly string[]): Promise<unknown> {
  return JSON.parse(await kubectl([...args, '-o', 'json']));
}
