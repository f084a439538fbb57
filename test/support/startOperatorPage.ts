import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { toPartEnvironment } from '@turnpike/local-stack/toPartEnvironment';

const PROGRAM = fileURLToPath(new URL('../../deploy/operator/src/main.ts', import.meta.url));

export interface RunningPage {
  /** The address that works once. */
  url: string;
  /** Interrupts the command, as Ctrl-C does. Resolves with its exit code. */
  stop(): Promise<number | null>;
}

/** Runs `turnpike console` as a process of its own. */
export async function startOperatorPage({ stackFile }: { stackFile: string }): Promise<RunningPage> {
  const child = spawn(process.execPath, [PROGRAM, 'console', '--stack', stackFile], { env: toPartEnvironment() });
  const ended = once(child, 'close');
  let said = '';
  for await (const text of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    said += text;
    if (said.endsWith('\n')) break;
  }
  const url = /http:\S+/.exec(said)?.[0];
  if (url === undefined) throw new Error(`turnpike console gave no address: ${said}`);
  child.stdout.resume();
  return {
    url,
    async stop() {
      child.kill('SIGINT');
      const [code] = await ended;
      return code as number | null;
    },
  };
}

/** Opens the page as its script does. Returns the function that reads a path with the session. */
export async function openOperatorPage(
  url: string,
): Promise<(path: string) => Promise<{ status: number; text: string }>> {
  const { origin, hash } = new URL(url);
  const opened = await fetch(`${origin}/session`, {
    method: 'POST',
    headers: { authorization: `Bearer ${hash.slice(1)}` },
  });
  if (!opened.ok) throw new Error(`the address was not taken: ${opened.status}`);
  const headers = { authorization: `Bearer ${await opened.text()}` };
  return async (path) => {
    const response = await fetch(origin + path, { headers });
    return { status: response.status, text: await response.text() };
  };
}
