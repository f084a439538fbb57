import { once } from 'node:events';
import {
  createServer,
  get,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it, jest } from '@jest/globals';
import { listen } from '@turnpike/http-service/listen';
import { sendWireError } from '@turnpike/http-service/sendWireError';
import { createLogger } from '@turnpike/logging/createLogger';
import { until } from '@turnpike/test-support/until';
import { type EdgeFault, toEdgeError } from '../api/edgeError.ts';
import { createUpstreamProxy, type UpstreamProxy, type UpstreamProxyOptions } from './createUpstreamProxy.ts';

const closings: (() => void)[] = [];
afterEach(() => {
  for (const close of closings.splice(0)) close();
});

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/** A proxy to an upstream, behind a listener, and the answers that it was given to fill. */
async function start(upstream: RequestListener, limits: Partial<UpstreamProxyOptions>) {
  const behind = createServer(upstream);
  await new Promise<void>((resolve) => behind.listen(0, '127.0.0.1', resolve));
  const log = createLogger({ service: 'edge', level: 'silent' });
  const warn = jest.spyOn(log, 'warn');
  const proxy: UpstreamProxy = createUpstreamProxy({
    upstream: 'model-router',
    url: `http://127.0.0.1:${portOf(behind)}`,
    silenceTimeoutMs: 60_000,
    ...limits,
    log,
  });
  const answers: ServerResponse[] = [];
  const faults: EdgeFault[] = [];
  const before = await listen(
    (req, res) => {
      answers.push(res);
      const refuse = (fault: EdgeFault): void => {
        faults.push(fault);
        sendWireError(res, toEdgeError(fault));
      };
      proxy.forward({ req, res, headers: '', call: { requestId: 'r', keepsHeaders: false, refuse } });
    },
    { host: '127.0.0.1', port: 0 },
  );
  closings.push(() => {
    for (const server of [before, behind]) {
      server.close();
      server.closeAllConnections();
    }
    proxy.close();
  });
  return { port: portOf(before), answers, faults, warn };
}

it('gives a client’s place to others once the upstream has answered, though the client reads nothing', async () => {
  const { port, answers } = await start((_req, res) => void res.end('x'.repeat(16_384)), { maxInProgress: 1 });
  const silent = connect(port, '127.0.0.1').pause();
  silent.on('error', () => {});
  silent.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2_000));
  // The kernel holds so much for it, and no more: a full buffer that the kernel still empties is another one at the next look.
  let seen = '';
  const isUnread = () => {
    const last = answers.at(-1);
    const before = seen;
    seen = `${answers.length} ${last?.socket?.writableLength}`;
    return seen === before && last?.writableEnded && !last.writableFinished && (last.socket?.writableLength ?? 0) > 0;
  };
  await until('an answer that nobody takes', isUnread);

  expect((await fetch(`http://127.0.0.1:${port}`)).status).toBe(200);
  expect(answers[answers.length - 2]?.writableFinished).toBe(false);
  silent.destroy();
});

it('refuses what is more than may be in progress', async () => {
  const waiting: ServerResponse[] = [];
  const { port, faults } = await start((_req, res) => void waiting.push(res), { maxInProgress: 1 });
  const first = fetch(`http://127.0.0.1:${port}`);
  await until('the first to be in progress', () => waiting.length === 1);
  expect((await fetch(`http://127.0.0.1:${port}`)).status).toBe(503);
  expect(faults).toEqual([{ kind: 'upstream_full', upstream: 'model-router' }]);
  waiting[0]?.end();
  expect((await first).status).toBe(200);
  expect(waiting).toHaveLength(1);
});

/** More than the sockets on the way hold. */
const UNREAD_BYTES = 64 * 1_048_576;

/** A client that has the head of an answer that is too long to wait unread, and reads nothing of it. */
async function askForMuch(limits: Partial<UpstreamProxyOptions>) {
  const { port, answers, warn } = await start((_req, res) => void res.end(Buffer.alloc(UNREAD_BYTES, 'x')), limits);
  const answer = await new Promise<IncomingMessage>((resolve) => get(`http://127.0.0.1:${port}`, resolve));
  await until('the answer to wait for its client', () => (answers[0]?.socket?.writableLength ?? 0) > 0);
  return { answer, answers, warn };
}

it('does not take an upstream for silent while the client takes nothing of its answer', async () => {
  const { answer } = await askForMuch({ silenceTimeoutMs: 500 });
  await pause(2_500);
  let bytes = 0;
  answer.on('data', (part: Buffer) => {
    bytes += part.length;
  });
  await once(answer, 'end');
  expect(bytes).toBe(UNREAD_BYTES);
});

it('drops a client that takes nothing of its answer for too long', async () => {
  const { answers, warn } = await askForMuch({ unreadTimeoutMs: 500 });
  await until('the answer to be dropped', () => answers[0]?.destroyed === true);
  expect(warn).not.toHaveBeenCalled();
});
