import { once } from 'node:events';
import { type AddressInfo, createServer, type LookupFunction, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { reachUpstream } from './reachUpstream.ts';

/** Nobody listens there: the tests' server has one address of the loopback only. */
const REFUSING = '127.0.0.2';
const LISTENING = '127.0.0.1';

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
  const socket = await reachUpstream(behind(REFUSING, REFUSING, LISTENING));
  expect(socket.remoteAddress).toBe(LISTENING);
  socket.destroy();
});

it('rejects as a connection does where all of them refuse it', async () => {
  await expect(reachUpstream(behind(REFUSING))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

it('takes a connection that stands, though this process was held up for longer than it waits for one', async () => {
  const reaching = reachUpstream(behind(LISTENING));
  await new Promise<void>((resolve) => process.nextTick(resolve));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200);
  const socket = await reaching;
  expect(socket.remoteAddress).toBe(LISTENING);
  socket.destroy();
});
