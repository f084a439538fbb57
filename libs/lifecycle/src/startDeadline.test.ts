import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { startDeadline } from './startDeadline.ts';

/** Keeps this process from whatever else it has to do. */
function holdUp(forMs: number): void {
  const until = performance.now() + forMs;
  while (performance.now() < until);
}

it('passes after its time, and not before', async () => {
  const startedAt = performance.now();
  await new Promise<void>((resolve) => startDeadline(100, resolve));
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(99);
});

it('does not pass once it was stopped', async () => {
  let hasPassed = false;
  const stop = startDeadline(20, () => {
    hasPassed = true;
  });
  stop();
  await new Promise<void>((resolve) => startDeadline(60, resolve));
  expect(hasPassed).toBe(false);
});

it('leaves an answer the time to be read that came while this process was held up', async () => {
  const server = createServer((_request, response) => response.end('in time')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const late = new AbortController();
  const stop = startDeadline(100, () => late.abort());
  try {
    const answer = fetch(`http://127.0.0.1:${port}`, { signal: late.signal });
    for (let turn = 0; turn < 2; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      holdUp(150);
    }
    await expect((await answer).text()).resolves.toBe('in time');
  } finally {
    stop();
    server.close();
  }
});
