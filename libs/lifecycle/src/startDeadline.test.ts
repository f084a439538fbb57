import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { startDeadline } from './startDeadline.ts';

/** Keeps this process from whatever else it has to do. */
const holdUp = (forMs: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);

it('passes after its time, and not before', async () => {
  const startedAt = performance.now();
  await new Promise<void>((resolve) => startDeadline(100, resolve));
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(99);
});

it('does not pass once it was stopped', async () => {
  let hasPassed = false;
  const { stop } = startDeadline(20, () => {
    hasPassed = true;
  });
  stop();
  await new Promise<void>((resolve) => startDeadline(60, resolve));
  expect(hasPassed).toBe(false);
});

it('begins anew', async () => {
  const startedAt = performance.now();
  await new Promise<void>((resolve) => {
    const { restart } = startDeadline(200, resolve);
    setTimeout(restart, 100);
  });
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(298);
});

it('leaves answers to two questions the time to be read that came while this process was held up in each turn', async () => {
  const server = createServer((_request, response) => response.end('in time')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const late = new AbortController();
  const { stop } = startDeadline(100, () => late.abort());
  try {
    let isRead = false;
    const ask = async () => (await fetch(`http://127.0.0.1:${port}`, { signal: late.signal })).text();
    const answer = ask()
      .then(ask)
      .finally(() => {
        isRead = true;
      });
    while (!isRead) {
      await new Promise((resolve) => setImmediate(resolve));
      holdUp(150);
    }
    await expect(answer).resolves.toBe('in time');
  } finally {
    stop();
    server.close();
  }
});
