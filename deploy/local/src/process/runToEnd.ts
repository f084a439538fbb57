import { spawn } from 'node:child_process';
import { StackError } from '../stackError.ts';

const TIMEOUT_MS = 60_000;
const OUTPUT_LIMIT = 4_000;

export interface Step {
  command: string;
  args: string[];
  env?: NodeJS.ProcessEnv;
  /** Text for its standard input. */
  input?: string;
  /** Longest time it may take, a minute where it is not given. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

/**
 * Runs a step of the start-up to its end and resolves. Throws a `StackError` with the end of its output
 * when it fails or takes too long, and the
 * signal's reason when that is aborted. `what` names the step in the message.
 */
export function runToEnd(
  what: string,
  { command, args, env, input, timeoutMs = TIMEOUT_MS, signal }: Step,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(env && { env }),
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    ...(signal && { signal }),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_LIMIT);
    });
  }
  const fail = (how: string, cause?: unknown) => {
    if (signal?.aborted) return reject(signal.reason);
    const said = output.trim();
    reject(new StackError(`${what} failed: ${said === '' ? how : `${how}\n${said}`}`, { cause }));
  };
  child.once('error', (error) => fail(error.message, error));
  child.once('close', (code, endSignal) => {
    if (code === 0) resolve();
    else fail(endSignal ? `it was ended by ${endSignal}` : `it ended with code ${code}`);
  });
  child.stdin.on('error', () => undefined); // a step that ends without reading its input reports that by its exit code
  child.stdin.end(input ?? '');
  return promise;
}
