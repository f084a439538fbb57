import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { listen } from './listen.ts';

interface Listener {
  server: Server;
  port: number;
  /** Calls that the app has been given, in order. */
  calls: { req: IncomingMessage; res: ServerResponse }[];
}

let server: Server | undefined;
afterEach(async () => {
  server?.close();
  server?.closeAllConnections();
  server = undefined;
});

async function start(serve: RequestListener = () => {}): Promise<Listener> {
  const calls: Listener['calls'] = [];
  server = await listen(
    (req, res) => {
      calls.push({ req, res });
      serve(req, res);
    },
    { host: '127.0.0.1', port: 0 },
  );
  return { server, port: (server.address() as AddressInfo).port, calls };
}

/** A client's connection, and all that has come back on it. */
async function open(port: number): Promise<{ socket: Socket; answer: () => string; closed: Promise<unknown> }> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let answer = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    answer += chunk;
  });
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  return { socket, answer: () => answer, closed };
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const statuses = (answer: string): string[] => answer.match(/HTTP\/1\.1 \d{3}/g) ?? [];
const named =
  (name: string): RequestListener =>
  (_req, res) =>
    void res.end(name);

it('begins the next request of a connection when the answer before it has ended, and forgets none', async () => {
  let underWay = 0;
  let most = 0;
  const { port, calls } = await start((_req, res) => {
    underWay += 1;
    most = Math.max(most, underWay);
    setImmediate(() => {
      underWay -= 1;
      res.end();
    });
  });
  const { socket, answer, closed } = await open(port);
  socket.write(GET.repeat(3_999) + GET.replace('Host', 'Connection: close\r\nHost'));
  await closed;
  expect({ most, calls: calls.length, answers: statuses(answer()).length }).toEqual({
    most: 1,
    calls: 4_000,
    answers: 4_000,
  });
});

it.each([
  ['requests', GET],
  ['requests with bodies', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'],
  ['requests behind an offer to upgrade', GET.replace('Host', 'Connection: upgrade\r\nUpgrade: x\r\nHost')],
  ['bytes that are no request', 'x'.repeat(60)],
])('reads no further while %s wait for an answer', async (_case, text) => {
  const { port } = await start();
  const accepted = once(server as Server, 'connection') as Promise<[Socket]>;
  const { socket } = await open(port);
  const [accepting] = await accepted;
  socket.write(GET);
  socket.write(text.repeat(200_000));
  const reads: number[] = [];
  // Others are served meanwhile, so what could be read has been.
  for (let turn = 0; turn < 50; turn += 1) {
    const other = await open(port);
    other.socket.destroy();
    await other.closed;
    reads.push(accepting.bytesRead);
  }
  expect(Math.max(...reads)).toBeLessThan(1_048_576);
  socket.destroy();
});

it('closes a connection whose requests are more than may wait on a listener', async () => {
  const { port, calls } = await start();
  const connections = await Promise.all(Array.from({ length: 5 }, () => open(port)));
  for (const { socket } of connections) socket.write('GET / HTTP/1.1\r\n\r\n'.repeat(3_600));
  await Promise.race(connections.map(({ closed }) => closed));
  // Those that wait do so on: an answer that ends brings the next one.
  await until('a call of a connection that stayed', () =>
    calls.some(({ res }) => !res.destroyed && res.socket?.destroyed === false),
  );
  for (const { res } of calls) res.end();
  await until('the next call of that connection', () => calls.length > connections.length);
  for (const { socket } of connections) socket.destroy();
  await Promise.all(connections.map(({ closed }) => closed));

  // And what has been closed takes no room.
  const later = await open(port);
  calls.length = 0;
  later.socket.write(GET.repeat(500));
  await until('the first of later requests', () => calls.length === 1);
  expect(later.socket.destroyed).toBe(false);
  later.socket.destroy();
});

it.each<[string, string]>([
  ['no request', 'hello\r\n\r\n'],
  ['a tunnel', 'CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['another expectation', GET.replace('Host', 'Expect: x\r\nHost')],
  ['a huge head', `GET / HTTP/1.1\r\nx: ${'1'.repeat(20_000)}\r\n\r\n`],
  ['a body that breaks', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n'],
])('refuses %s behind a stream when that has ended', async (_case, text) => {
  const { port, calls } = await start((_req, res) => void res.write('first'));
  const { socket, answer, closed } = await open(port);
  socket.write(GET);
  await until('the stream to begin', () => answer().includes('first'));
  socket.write(text);
  // More than the kernel takes for a client that does not read: the stream has to wait for it, and to go on.
  const [stream] = calls;
  if (!stream) throw new Error('no call');
  socket.pause();
  const drained = once(stream.res, 'drain');
  stream.res.write('x'.repeat(16 * 1_048_576));
  await until('the broken request to be read', () => (stream.req.socket.bytesRead ?? 0) >= GET.length + text.length);
  socket.resume();
  await drained;
  expect(statuses(answer())).toEqual(['HTTP/1.1 200']);
  stream.res.end('last');
  await closed;
  expect(statuses(answer())).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  expect(answer().slice(16 * 1_048_576)).toMatch(/x\r\n4\r\nlast\r\n0\r\n\r\nHTTP\/1\.1 400 Bad Request\r\n/);
  expect(calls).toHaveLength(1);
});

it('refuses a request that comes too slowly when it is its turn, and never with 408', async () => {
  const { server, port, calls } = await start();
  server.headersTimeout = 1;
  const { socket, answer, closed } = await open(port);
  socket.write(`${GET}GET / HT`);
  const late = once(server, 'clientError') as Promise<[NodeJS.ErrnoException]>;
  expect((await late)[0].code).toBe('ERR_HTTP_REQUEST_TIMEOUT');
  calls[0]?.res.end('whole');
  await closed;
  expect(answer()).toMatch(/^HTTP\/1\.1 200 OK.*wholeHTTP\/1\.1 400 Bad Request.*"invalid_request_error"/s);
});

it.each([
  ['serves', { rest: 'TP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', headMs: 60_000, status: 200 }],
  ['refuses', { rest: '', headMs: 1, status: 400 }],
])('%s a request whose connection was not read in its time: %j', async (_what, { rest, headMs, status }) => {
  const { server, port, calls } = await start();
  server.headersTimeout = headMs;
  const { socket, answer, closed } = await open(port);
  server.headersTimeout = 1;
  const late = once(server, 'clientError');
  socket.write(`${GET}${GET}GET / HT`);
  await late;
  calls[0]?.res.end('one');
  await until('the second call', () => calls.length === 2);
  calls[1]?.res.end('two');
  await until('both answers', () => statuses(answer()).length >= 2);
  socket.write(rest);
  if (rest) await until('the third call', () => calls.length === 3);
  calls[2]?.res.end('three');
  await closed;
  expect(statuses(answer())).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', `HTTP/1.1 ${status}`]);
});

it('reads the rest of a body that nobody read on, where its answer closes the connection', async () => {
  const { port, calls } = await start();
  const { socket, answer, closed } = await open(port);
  const body = Buffer.alloc(16 * 1_048_576);
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`);
  const sent = new Promise((resolve) => socket.write(body, resolve));
  await until('reading to stop', () => calls[0] && calls[0].req.readableLength >= calls[0].req.readableHighWaterMark);
  calls[0]?.res.end('early');
  expect(await sent).toBeFalsy();
  await closed;
  expect(answer()).toMatch(/^HTTP\/1\.1 200 OK.*early$/s);
});

it('lets an early answer end whole where the body behind it breaks, and says nothing more', async () => {
  const { port, calls } = await start((_req, res) => void res.end('x'.repeat(16 * 1_048_576)));
  const { socket, answer, closed } = await open(port);
  socket.pause();
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
  socket.write(head);
  await until('the answer', () => calls[0]?.res.writableEnded);
  socket.write('no size\r\n');
  await until('the broken body', () => calls[0] && calls[0].req.socket.bytesRead > head.length);
  socket.resume();
  await closed;
  expect(statuses(answer())).toEqual(['HTTP/1.1 200']);
  expect(answer().length).toBeGreaterThan(16 * 1_048_576);
});

it('refuses a body that comes too slowly instead of its answer, and has whoever waits for it stop', async () => {
  const { server, port, calls } = await start();
  server.requestTimeout = 1;
  const { socket, answer, closed } = await open(port);
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{');
  await until('the call', () => calls.length === 1);
  const stopped = calls[0] && once(calls[0].res, 'close');
  await closed;
  await stopped;
  expect(answer()).toMatch(/^HTTP\/1\.1 400 Bad Request.*"invalid_request_error"/s);
  calls[0]?.res.end('too late');
});

it('waits for an answer as long as that takes, and for a client that does not read it no longer than for an idle one', async () => {
  const { server, port, calls } = await start();
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const { socket, closed } = await open(port);
  const [accepting] = await accepted;
  socket.pause();
  socket.write(GET + GET);
  for (let nth = 1; nth <= 2; nth += 1) {
    await until('the call', () => calls.length === nth);
    expect(accepting.timeout || 0).toBe(0);
    calls[nth - 1]?.res.end(nth === 1 ? 'read by the kernel' : Buffer.alloc(32 * 1_048_576));
  }
  expect(accepting.timeout).toBe(60_000);
  expect(accepting.writableLength).toBeGreaterThan(0);
  accepting.emit('timeout');
  await until('the call to be let go of', () => calls[1]?.res.destroyed);
  socket.resume();
  await closed;
});

it('waits no longer than that for a client that asked for a tunnel behind it, or sent what is no request', async () => {
  for (const text of ['CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n', 'hello\r\n\r\n']) {
    const { server, port, calls } = await start();
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const { socket, closed } = await open(port);
    const [accepting] = await accepted;
    socket.pause();
    socket.write(GET + text);
    await until('the call', () => calls.length === 1);
    calls[0]?.res.end(Buffer.alloc(32 * 1_048_576));
    expect(accepting.timeout).toBe(60_000);
    accepting.emit('timeout');
    await until('the connection to be closed', () => accepting.destroyed);
    socket.resume();
    await closed;
    server.close();
  }
});

it('says nothing to a client that has sent nothing', async () => {
  const { server, port } = await start();
  server.headersTimeout = 1;
  const { answer, closed } = await open(port);
  await closed;
  expect(answer()).toBe('');
});

it.each([
  ['HTTP/0.9', 'GET / HTTP/0.9\r\nHost: a\r\n\r\n'],
  ['HTTP/1.2', 'GET / HTTP/1.2\r\nHost: a\r\n\r\n'],
  ['HTTP/2.0', 'GET / HTTP/2.0\r\nHost: a\r\n\r\n'],
  ['HTTP/2.1', 'GET / HTTP/2.1\r\nHost: a\r\n\r\n'],
  [
    'HTTP/1.0 with chunks',
    'POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  ],
])('refuses %s and closes', async (_case, text) => {
  const { port, calls } = await start(named('served'));
  const { socket, answer, closed } = await open(port);
  socket.write(text + GET);
  await closed;
  expect(answer()).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n.*"invalid_request_error".*}}$/s);
  expect(answer().toLowerCase()).toContain('\r\nconnection: close\r\n');
  expect(calls).toEqual([]);
});

it('serves an offer to upgrade as if it were none, and takes nothing of what comes behind it', async () => {
  const { port, calls } = await start(named('served'));
  const { socket, answer, closed } = await open(port);
  const post = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\n';
  socket.write(GET.replace('Host', 'Connection: upgrade\r\nUpgrade: h2c\r\nHost') + post);
  // The body of the one behind looks like a request.
  socket.write(GET);
  await closed;
  expect(answer()).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\nConnection: close\r\n.*\r\n\r\nserved$/is);
  expect(calls).toHaveLength(1);
});
