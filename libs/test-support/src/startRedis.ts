import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from './findFreePort.ts';
import { removeServerFolder } from './folders.ts';
import { type BoundProcess, spawnBound } from './spawnBound.ts';

/** A private Redis of one test file: on a free port, its data in a temporary folder, gone with the test process. */
export interface TestRedis {
  port: number;
  url: string;
  /** Kills the server; what its append-only file holds is back after `restart`. */
  kill(): Promise<void>;
  /** Starts it again on the same port. `empty` forgets everything it knew. */
  restart(options?: { empty: boolean }): Promise<void>;
  /** Freezes the process: connections stay open and nothing is answered. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;

/** Starts a private `redis-server` (7 or later, on the path) with an append-only file, as a stack does. */
export async function startRedis(): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-redis-'));
  const port = await findFreePort();
  let server: BoundProcess | undefined;
  async function start(): Promise<void> {
    const listening = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
    // Redis answers no client while it waits for the disk, and data of a test need not survive the machine.
    const keeping = ['--appendonly', 'yes', '--appendfsync', 'no', '--save', ''];
    const args = [...listening, ...keeping, '--maxmemory-policy', 'noeviction'];
    server = spawnBound('redis-server', args, { asNobody: false, cwd: folder });
    await server.untilOutput('Ready to accept connections', START_TIMEOUT_MS);
  }
  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    kill: async () => server?.end('SIGKILL'),
    async restart({ empty } = { empty: false }) {
      if (empty) await removeServerFolder(join(folder, 'appendonlydir'));
      await start();
    },
    freeze: () => server?.signal('SIGSTOP'),
    thaw: () => server?.signal('SIGCONT'),
    async stop() {
      await server?.end('SIGKILL');
      await removeServerFolder(folder);
    },
  };
}
