import { once } from 'node:events';
import { Agent, get as httpGet, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { createHttpApp } from './createHttpApp.ts';
import { drain } from './drain.ts';
import { createHealthRoutes } from './healthRoutes.ts';
import { listen } from './listen.ts';

/** Long enough that nothing of a test happens after it unless the test waits for it. */
const SETTLE_MS = 5_000;

const agents: Agent[] = [];
const servers: Server[] = [];
afterEach(() => {
  for (const agent of agents.splice(0)) agent.destroy();
  for (const server of servers.splice(0)) server.closeAllConnections();
});

async function serve(handler: RequestListener): Promise<Server> {
  const server = await listen(handler, { host: '127.0.0.1', port: 0 });
  servers.push(server);
  return server;
}

/** A caller that keeps its one connection for as long as it is let. */
function aCaller(server: Server) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agents.push(agent);
  const { port } = server.address() as AddressInfo;
  return async (path = '/'): Promise<{ res: IncomingMessage; isReused: boolean }> => {
    const req = httpGet({ agent, port, path });
    const [res] = (await once(req, 'response')) as [IncomingMessage];
    return { res, isReused: req.reusedSocket };
  };
}

async function textOf(res: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of res.setEncoding('utf8')) text += chunk;
  return text;
}

const sayHello: RequestListener = (_req, res) => void res.end('hello');

it('serves what still comes while it settles, on new connections and kept ones, and keeps none of them', async () => {
  const server = await serve(sayHello);
  const [kept, fresh] = [aCaller(server), aCaller(server)];
  expect(await textOf((await kept()).res)).toBe('hello');
  const drained = drain([server], { settleMs: SETTLE_MS });
  for (const [call, wasKept] of [
    [kept, true],
    [fresh, false],
  ] as const) {
    const { res, isReused } = await call();
    expect(isReused).toBe(wasKept);
    expect(res.headers.connection).toBe('close');
    expect(await textOf(res)).toBe('hello');
  }
  await drained;
  expect(server.listening).toBe(false);
});

it('lets an answer under way end, and serves what comes on its connection afterwards', async () => {
  const end = Promise.withResolvers<void>();
  const server = await serve((req, res) => {
    if (req.url === '/') return void res.end('hello');
    res.write('one, ');
    void end.promise.then(() => res.end('two'));
  });
  const call = aCaller(server);
  const { res } = await call('/stream');
  expect(res.headers.connection).toBe('keep-alive');
  const drained = drain([server], { settleMs: SETTLE_MS });
  // The server takes no connection any more, so the settling is over.
  while (server.listening) await pause(10);
  end.resolve();
  expect(await textOf(res)).toBe('one, two');
  // The caller was told that it may keep this connection, and uses it at once.
  const next = await call();
  expect(next.isReused).toBe(true);
  expect(next.res.headers.connection).toBe('close');
  expect(await textOf(next.res)).toBe('hello');
  await drained;
});

it('says close in an answer that has not begun when it is told to end', async () => {
  const end = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const server = await serve((_req, res) => {
    asked.resolve();
    void end.promise.then(() => res.end('late'));
  });
  const answering = aCaller(server)();
  await asked.promise;
  const drained = drain([server], { settleMs: 100 });
  end.resolve();
  const { res } = await answering;
  expect(res.headers.connection).toBe('close');
  expect(await textOf(res)).toBe('late');
  await drained;
});

it('closes a connection that nobody uses, and ends', async () => {
  const server = await serve(sayHello);
  const { res } = await aCaller(server)();
  const { socket } = res;
  await textOf(res);
  const closed = once(socket, 'close');
  await drain([server], { settleMs: 100 });
  await closed;
});

it('is not ready from the moment it is told to end, and alive until the listener before it has ended', async () => {
  const end = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const log = createLogger({ service: 'test', level: 'silent' });
  const routes = createHealthRoutes({});
  const internal = await serve(createHttpApp({ log, telemetry: noTelemetry, routes, toWireError: () => undefined }));
  const server = await serve((_req, res) => {
    asked.resolve();
    void end.promise.then(() => res.end());
  });
  const statusOf = async (path: string) => {
    const { res } = await aCaller(internal)(path);
    await textOf(res);
    return res.statusCode;
  };
  expect(await statusOf('/ready')).toBe(200);
  const answering = aCaller(server)();
  await asked.promise;
  const drained = drain([server, internal], { settleMs: 50 });
  while (server.listening) await pause(10);
  expect(await statusOf('/ready')).toBe(503);
  expect(await statusOf('/health')).toBe(200);
  end.resolve();
  await textOf((await answering).res);
  await drained;
  expect(internal.listening).toBe(false);
});
