import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { StackError } from '@turnpike/local-stack/stackError';

const TIMEOUT_MS = 300_000;
const OUTPUT_LIMIT = 64 * 1024 * 1024;

const run = promisify(execFile);

/** Runs a program in the repository and returns its standard output. Throws a `StackError` with all output if it fails. */
export async function readOutput(command: string, args: string[]): Promise<string> {
  try {
    const options = { cwd: repositoryRoot, timeout: TIMEOUT_MS, maxBuffer: OUTPUT_LIMIT };
    return (await run(command, args, options)).stdout;
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    throw new StackError(`${message}\n${stdout}${stderr}`.trim(), { cause: error });
  }
}
