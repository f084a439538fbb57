import { once } from 'node:events';
import { type AddressInfo, createServer, type LookupFunction, type Server } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { UpstreamConnections } from '@turnpike/upstream-connections/upstreamConnections';
import { reachUpstream } from './reachUpstream.ts';

/** An address on which no process listens: the tests' server has only one address of the loopback. */
const REFUSING = '127.0.0.2';
const LISTENING = '127.0.0.1';

const LONG = { timeoutMs: 60_000 };

let server: Server;
beforeAll(async () => {
  server = createServer((socket) => socket.end()).listen(0, LISTENING);
  await once(server, 'listening');
});
afterAll(() => void server.close());

/** A name that leads to each of these replicas in turn, as a load balancer does. */
function behind(...replicas: string[]) {
  const left = [...replicas];
  const lookup: LookupFunction = (_name, _options, callback) => callback(null, left.shift() ?? REFUSING, 4);
  const { port } = server.address() as AddressInfo;
  return { host: 'upstream.test', port, lookup, autoSelectFamily: false };
}

it('goes on to the next replica where one refuses the connection', async () => {
  const socket = await reachUpstream(behind(REFUSING, REFUSING, LISTENING), LONG);
  expect(socket.remoteAddress).toBe(LISTENING);
  socket.destroy();
});

it('rejects as a connection does where all of them refuse it', async () => {
  await expect(reachUpstream(behind(REFUSING), LONG)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

it('takes a connection that stands, though this process was held up for longer than it waits for one', async () => {
  const reaching = reachUpstream(behind(LISTENING), { timeoutMs: 1_000 });
  await new Promise<void>((resolve) => process.nextTick(resolve));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200);
  const socket = await reaching;
  expect(socket.remoteAddress).toBe(LISTENING);
  socket.destroy();
});

/** A listener whose process is so busy that it accepts nothing until it is told to; its kernel keeps two connections for it. */
async function startBusyListener(): Promise<{ port: number; accept(): void; stop(): Promise<number> }> {
  const isFree = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     const server = require('node:net').createServer((socket) => socket.on('error', () => {}));
     server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
       parentPort.postMessage(server.address().port);
       Atomics.wait(workerData, 0, 0);
     });`,
    { eval: true, workerData: isFree },
  );
  const [port] = (await once(worker, 'message')) as [number];
  const accept = (): void => {
    Atomics.store(isFree, 0, 1);
    Atomics.notify(isFree, 0);
  };
  return { port, accept, stop: () => worker.terminate() };
}

it('waits for a busy upstream whose kernel takes no more connections for it', async () => {
  const busy = await startBusyListener();
  const reaching = Array.from({ length: 5 }, () => reachUpstream({ host: LISTENING, port: busy.port }, LONG));
  const isOver = Promise.all(reaching).then(() => true);
  expect(await Promise.race([isOver, pause(1_200, false)])).toBe(false);
  busy.accept();
  for (const socket of await Promise.all(reaching)) socket.destroy();
  await busy.stop();
});

it('gives up on an address that does not answer after its time, and has sent nothing', async () => {
  const busy = await startBusyListener();
  const reaching = Array.from({ length: 5 }, () =>
    reachUpstream({ host: LISTENING, port: busy.port }, { timeoutMs: 200 }),
  );
  const outcomes = await Promise.allSettled(reaching);
  // The kernel took some of them.
  for (const outcome of outcomes) if (outcome.status === 'fulfilled') outcome.value.on('error', () => {}).destroy();
  expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { name: 'NotSentError', message: 'not connected within 200 ms' },
  });
  await busy.stop();
});

it('lets only so many requests wait for a connection', async () => {
  const busy = await startBusyListener();
  const connections = new UpstreamConnections({
    connect: (onread) => reachUpstream({ host: LISTENING, port: busy.port, onread }, { timeoutMs: 500 }),
    maxConnecting: 5,
    idleMs: 1_000,
    maxIdle: 5,
  });
  const opening = Array.from({ length: 6 }, () => connections.open());
  await expect(Promise.race(opening)).rejects.toMatchObject({
    name: 'NotSentError',
    message: '5 requests wait for a connection',
  });
  for (const outcome of await Promise.allSettled(opening)) if (outcome.status === 'fulfilled') outcome.value.destroy();
  await busy.stop();
});
