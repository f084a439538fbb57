import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  type AnswerListener,
  ListenerError,
  openSocket,
  type UpstreamConnection,
  UpstreamConnections,
} from './upstreamConnections.ts';

const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

/** Answers to a request, by its path. */
const ANSWERS: Record<string, (socket: Socket) => unknown> = {
  '/chunk': (socket) => socket.write(`${HEAD}1\r\na\r\n`),
  '/whole': (socket) => socket.write(`${HEAD}1\r\na\r\n0\r\n\r\n`),
  '/close': (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'),
  '/broken': (socket) => socket.write('HTTP/1.1 200 OK\nx: y\r\n\r\n'),
  '/cut': (socket) => socket.write(`${HEAD}1\r\na\r\n`, () => socket.destroy()),
};

let server: Server;
let connections: UpstreamConnections;
beforeAll(async () => {
  server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (bytes) => ANSWERS[String(bytes).split(' ')[1] ?? '']?.(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  connections = new UpstreamConnections({
    connect: (onread) => openSocket({ host: '127.0.0.1', port, onread }, { timeoutMs: 10_000 }),
    maxConnecting: 1,
    idleMs: 10_000,
    maxIdle: 1,
  });
});
afterAll(() => {
  connections.close();
  server.close();
});

const OURS = new TypeError('a mistake of ours');
const throws = (): never => {
  throw OURS;
};

/** Resolves with the error that an exchange breaks off with. */
async function ask(path: string, listener: Partial<AnswerListener>, body = ''): Promise<[UpstreamConnection, Error]> {
  const connection = await connections.open();
  const failed = Promise.withResolvers<Error>();
  connection.begin(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`, {
    onAnswer: () => true,
    onDrain: () => {},
    onFailure: failed.resolve,
    ...listener,
  });
  connection.write(body);
  connection.flush();
  return [connection, await failed.promise];
}

it.each([
  ['some of an answer', '/chunk'],
  ['a whole answer', '/whole'],
  ['an answer that the end of the connection makes whole', '/close'],
])('says that an error in a listener of %s is ours, and drops the connection', async (_case, path) => {
  const [connection, error] = await ask(path, {
    onAnswer: (answer) => (path !== '/close' || answer.isWhole ? throws() : true),
  });
  expect(error).toBeInstanceOf(ListenerError);
  expect(error.cause).toBe(OURS);
  expect(connection.isOpen).toBe(false);
});

it('says that an error in a listener of a drained request is ours, and drops the connection', async () => {
  const [connection, error] = await ask('/none', { onDrain: throws }, 'x'.repeat(8_388_608));
  expect(error).toBeInstanceOf(ListenerError);
  expect(error.cause).toBe(OURS);
  expect(connection.isOpen).toBe(false);
});

it.each([
  ['breaks off', '/cut', /closed/],
  ['can be read in two ways', '/broken', /status line/],
])('says that an answer that %s is the upstream’s failure', async (_case, path, message) => {
  const [connection, error] = await ask(path, {});
  expect(error).not.toBeInstanceOf(ListenerError);
  expect(error.message).toMatch(message);
  expect(connection.isOpen).toBe(false);
});
