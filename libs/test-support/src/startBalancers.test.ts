import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { type BalancedProcess, startBalancers } from './startBalancers.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function portOf(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A process that says its name to who connects, and says it again to every line. */
async function startProcess(name: string): Promise<BalancedProcess & { isReady: boolean }> {
  const port = await portOf(
    createServer((socket) => {
      socket.on('error', () => undefined).on('data', () => socket.write(name));
      socket.write(name);
    }),
  );
  const listening = { port, internalPort: 0, isReady: true };
  const internal = createHttpServer((_req, res) => void res.writeHead(listening.isReady ? 200 : 503).end());
  listening.internalPort = await portOf(internal);
  return listening;
}

/** Connects and gives the name of who answers; `ask` again on the same connection. */
async function call(port: number): Promise<{ name: string; ask(): Promise<string> }> {
  const socket = connect({ host: '127.0.0.1', port }).setEncoding('utf8');
  closing.push(() => socket.destroy());
  const read = async (): Promise<string> => String((await once(socket, 'data'))[0]);
  const name = await read();
  return {
    name,
    ask() {
      socket.write('\n');
      return read();
    },
  };
}

it('leads connections to processes in turn, and no new one to a process that is not ready', async () => {
  const [a, b] = [await startProcess('a'), await startProcess('b')];
  const balancers = startBalancers();
  closing.push(() => balancers.close());
  const port = await balancers.open([a, b]);
  const first = await call(port);
  expect([first.name, (await call(port)).name].sort()).toEqual(['a', 'b']);

  (first.name === 'a' ? a : b).isReady = false;
  const other = first.name === 'a' ? 'b' : 'a';
  // Two in a row: both are in turn no longer.
  while ((await call(port)).name !== other || (await call(port)).name !== other) await pause(20);
  expect(await first.ask()).toBe(first.name);

  b.isReady = false;
  a.isReady = false;
  await expect(
    (async () => {
      for (;;) await call(port);
    })(),
  ).rejects.toThrow('ECONNRESET');
});
