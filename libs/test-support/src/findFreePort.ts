import { createServer } from 'node:net';

/** Below the ports of tests' stacks, and below those that the system hands out by itself: nobody gets one by chance. */
const FIRST_PORT = 10_000;
/** Jest's workers are numbered from 1; each has ports of its own, so that no two find the same one at the same time. */
const WORKERS = 4;
const PORTS_PER_WORKER = 500;
/** The only port among these that `fetch` refuses as a bad one. */
const BAD_PORT = 10_080;

const ownFirst = FIRST_PORT + (Number(process.env.JEST_WORKER_ID ?? 0) % WORKERS) * PORTS_PER_WORKER;
let next = Math.floor(Math.random() * PORTS_PER_WORKER);

/** Longest from a port to its listener, as a browser's page may have to wait for a stack first. */
const CLAIM_MS = 120_000;

/**
 * Returns a free TCP port of the loopback address, which stays free until the caller takes it. The system gives it only to a listener or
 * connection that asks for it. For two minutes no process returns it again, not even one of another test run.
 */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < PORTS_PER_WORKER; tries += 1) {
    const port = ownFirst + (next++ % PORTS_PER_WORKER);
    // Claimed first, because a look at a port takes it for a moment.
    if (port !== BAD_PORT && (await isClaimed(port)) && (await isFree(port))) return port;
  }
  throw new Error(`no free port from ${ownFirst} on`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/**
 * Claims a port by an abstract socket of its number, which the kernel removes with this process. Resolves false if another process has
 * it. Keeps no process alive. A system without abstract sockets has no claims.
 */
function isClaimed(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const claim = createServer().unref();
    claim.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'EADDRINUSE'));
    claim.listen(`\0turnpike-test-port-${port}`, () => {
      setTimeout(() => claim.close(), CLAIM_MS).unref();
      resolve(true);
    });
  });
}
