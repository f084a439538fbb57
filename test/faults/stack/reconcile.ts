import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../../deploy/operator/src/main.ts', import.meta.url));
/** With the wait for spend that is on its way to the account layer. */
const TIMEOUT_MS = 240_000;

/** The output of `turnpike reconcile`. */
export interface Reconciliation {
  agree: boolean;
  /** All that it prints. */
  report: string;
}

/** Runs `turnpike reconcile` as an operator does; `region` names the one that is meant where the stack has several. */
export async function reconcile(stackFile: string, { region }: { region?: string } = {}): Promise<Reconciliation> {
  const words = ['reconcile', '--stack', stackFile, ...(region === undefined ? [] : ['--region', region])];
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  });
  const code = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), code]);
  return { agree: exitCode === 0, report: (stdout + stderr).trimEnd() };
}
