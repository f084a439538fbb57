import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer as createPlainServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ResponseReader } from './responseReader.ts';
import { openEncryptedSocket, UpstreamConnections } from './upstreamConnections.ts';

const IN_TIME = { timeoutMs: 10_000 };

let dir: string;
let server: Server;
let certificate: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'turnpike-tls-'));
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync('openssl', ['req', '-x509', ...curve, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  certificate = await readFile(cert, 'utf8');
  server = createServer({ key: await readFile(key), cert: certificate }, (socket) => {
    socket.on('error', () => {});
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.close();
  await rm(dir, { recursive: true });
});

const address = (host: string) => ({ host, port: (server.address() as AddressInfo).port, ca: certificate });

/** Sends a request and returns the upstream's response. */
async function ask(connections: UpstreamConnections): Promise<string> {
  const connection = connections.takeIdle() ?? (await connections.open());
  return new Promise((resolve, reject) => {
    let text = '';
    connection.begin('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n', {
      onAnswer(answer: ResponseReader, body) {
        text += body?.toString('latin1') ?? '';
        if (answer.isWhole) {
          connections.release(connection);
          resolve(text);
        }
        return true;
      },
      onFailure: reject,
      onDrain: () => {},
    });
    connection.flush();
  });
}

it.each([
  ['on one connection', {}, 1],
  ['on a new connection where the one before is as old as it may be', { maxAgeMs: 0 }, 2],
])('exchanges requests and answers with an upstream that speaks TLS, %s', async (_how, limits, connectionsOpened) => {
  let opened = 0;
  const connections = new UpstreamConnections({
    connect: (onread) => {
      opened += 1;
      return openEncryptedSocket({ ...address('localhost'), onread }, IN_TIME);
    },
    maxConnecting: 1,
    idleMs: 60_000,
    maxIdle: 1,
    ...limits,
  });
  expect(await ask(connections)).toBe('hello');
  expect(await ask(connections)).toBe('hello');
  expect(opened).toBe(connectionsOpened);
  connections.close();
});

it('opens no connection to a host whose certificate is another’s', async () => {
  await expect(openEncryptedSocket(address('127.0.0.1'), IN_TIME)).rejects.toMatchObject({
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  });
});

it('gives up on a handshake that does not end in time', async () => {
  const silent = createPlainServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  await expect(openEncryptedSocket({ host: '127.0.0.1', port }, { timeoutMs: 200 })).rejects.toMatchObject({
    name: 'NotSentError',
  });
  silent.close();
});
