import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type FaultProxy, openFaultProxy } from './faultProxy.ts';
import { until } from './until.ts';

/** Answers every byte with the same byte, and keeps what it got. */
let echo: Server;
let received: Buffer[];
let proxy: FaultProxy;
const opened: Socket[] = [];

beforeEach(async () => {
  received = [];
  echo = createServer({ allowHalfOpen: true }, (socket) => {
    opened.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      received.push(bytes);
      socket.write(bytes);
    });
    socket.on('end', () => socket.end());
  });
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
  proxy = await openFaultProxy((echo.address() as { port: number }).port);
});
afterEach(async () => {
  await proxy.close();
  for (const socket of opened.splice(0)) socket.destroy();
  await new Promise((resolve) => echo.close(resolve));
});

interface Client {
  socket: Socket;
  chunks: Buffer[];
  text(): string;
  ending: Promise<'ended' | 'reset' | 'refused'>;
}

function open(): Client {
  const socket = connect({ host: '127.0.0.1', port: proxy.port });
  opened.push(socket);
  const chunks: Buffer[] = [];
  socket.on('data', (bytes) => chunks.push(bytes));
  const ending = new Promise<'ended' | 'reset' | 'refused'>((resolve) => {
    socket.once('end', () => resolve('ended'));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ECONNREFUSED' ? 'refused' : 'reset'),
    );
  });
  return { socket, chunks, text: () => Buffer.concat(chunks).toString(), ending };
}

const arrived = (): string => Buffer.concat(received).toString();

it('passes everything on, and the end of each side, as if it were not there', async () => {
  const client = open();
  const text = 'x'.repeat(3_000_000);
  client.socket.end(text);
  expect(await client.ending).toBe('ended');
  expect(client.text()).toBe(text);
  await until('the connection to be gone', () => proxy.connections === 0);
});

it('delays every byte', async () => {
  await proxy.become({ delayMs: 60 });
  const client = open();
  const startedAt = performance.now();
  client.socket.write('hello');
  await until('the echo', () => client.text() === 'hello');
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(115); // there and back, less a timer's rounding
});

it('bounds how much passes in a second', async () => {
  await proxy.become({ bytesPerSecond: 10_000, sliceBytes: 100 });
  const client = open();
  const startedAt = performance.now();
  client.socket.write('y'.repeat(1_000));
  await until('all of it', () => client.text().length === 1_000);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(90);
});

it('slices what passes', async () => {
  await proxy.become({ sliceBytes: 3 });
  const client = open();
  const text = '0123456789'.repeat(20);
  client.socket.end(text);
  expect(await client.ending).toBe('ended');
  expect(client.text()).toBe(text);
  expect(received.length).toBeGreaterThan(1);
});

it('resets a connection after so many bytes of replies', async () => {
  await proxy.become({ resetAfterBytes: 4 });
  const client = open();
  client.socket.write('0123456789');
  expect(await client.ending).toBe('reset');
  expect(client.text()).toBe('0123'.slice(0, client.text().length));
  expect(arrived()).toBe('0123456789');
});

it('holds replies while requests arrive, and lets them go', async () => {
  await proxy.become({ holdReplies: true });
  const client = open();
  client.socket.write('held');
  await until('it to arrive', () => arrived() === 'held');
  expect(client.text()).toBe('');
  await proxy.become({});
  await until('the reply', () => client.text() === 'held');
});

it('holds requests while replies arrive, and lets them go', async () => {
  const client = open();
  client.socket.write('a');
  await until('the first byte', () => client.text() === 'a');
  await proxy.become({ holdRequests: true });
  client.socket.write('held');
  const other = open();
  other.socket.write('held too');
  await until('both connections', () => proxy.connections === 2);
  expect(arrived()).toBe('a');
  await proxy.become({});
  await until('both requests', () => client.text() === 'aheld' && other.text() === 'held too');
});

it('lets nothing pass as a black hole, and everything afterwards', async () => {
  const client = open();
  client.socket.write('a');
  await until('the first byte', () => client.text() === 'a');
  await proxy.become({ blackHole: true });
  client.socket.write('b');
  const late = open();
  late.socket.end('c');
  await until('both connections', () => proxy.connections === 2);
  expect([arrived(), client.text(), late.text()]).toEqual(['a', 'a', '']);
  await proxy.become({});
  expect(await late.ending).toBe('ended');
  await until('the second byte', () => client.text() === 'ab');
});

it('refuses new connections and keeps those that are open', async () => {
  const before = open();
  before.socket.write('a');
  await until('the first byte', () => before.text() === 'a');
  await proxy.become({ refuse: true });
  expect(await open().ending).toBe('refused');
  before.socket.write('b');
  await until('the second byte', () => before.text() === 'ab');
  await proxy.become({});
  const after = open();
  after.socket.end('c');
  expect(await after.ending).toBe('ended');
});

it('resets at once what it accepts, or what is open, when told so', async () => {
  const client = open();
  client.socket.write('a');
  await until('the first byte', () => client.text() === 'a');
  proxy.reset();
  expect(await client.ending).toBe('reset');
  expect(proxy.connections).toBe(0);
  await proxy.become({ resetOnAccept: true });
  expect(await open().ending).toBe('reset');
});

it('tells of an end late', async () => {
  await proxy.become({ closeDelayMs: 50 });
  const client = open();
  const startedAt = performance.now();
  client.socket.end('z');
  expect(await client.ending).toBe('ended');
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(95);
});

it('loses what is open for good, without a word to either side, and passes on what is new', async () => {
  const lost = open();
  lost.socket.write('a');
  await until('the echo', () => lost.text() === 'a');
  proxy.lose();
  lost.socket.write('b');
  const next = open();
  next.socket.write('c');
  await until('the echo of the next', () => next.text() === 'c');
  await proxy.become({});
  next.socket.end('d');
  expect(await next.ending).toBe('ended');
  expect([lost.text(), arrived()]).toEqual(['a', 'acd']);
});

it('leads new connections to where it is told, and leaves open ones where they are', async () => {
  const former = open();
  former.socket.write('a');
  await until('the echo', () => former.text() === 'a');
  const elsewhere = createServer((socket) => socket.end('elsewhere'));
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  proxy.redirect((elsewhere.address() as { port: number }).port);
  const next = open();
  expect(await next.ending).toBe('ended');
  expect(next.text()).toBe('elsewhere');
  former.socket.end('b');
  expect(await former.ending).toBe('ended');
  expect(former.text()).toBe('ab');
  await new Promise((resolve) => elsewhere.close(resolve));
});
