import { EventEmitter } from 'node:events';
import { createServer, get, type Server } from 'node:http';
import { afterEach, expect, it, jest } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import express, { type Response } from 'express';
import { listenAnywhere } from '../../../test/listenAnywhere.ts';
import { MESSAGE_EVENTS } from '../operations/messages.ts';
import { ClientStream } from './clientStream.ts';

const LONG_MS = 30_000;
const MORE_THAN_A_SOCKET_TAKES = 30_000_000;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** The response of a request whose client has connected and reads nothing. */
async function anUnreadResponse(): Promise<Response> {
  let response: Response | undefined;
  const app = express();
  app.get('/', (_req, res) => {
    response = res;
  });
  const server = createServer(app);
  servers.push(server);
  get(await listenAnywhere(server), { agent: false }, (answer) => answer.on('error', () => {})).on('error', () => {});
  await until('the request is there', () => response !== undefined);
  if (!response) throw new Error('no request came');
  return response;
}

it('is told again that its client reads on, where it has written too much at once on being told so', async () => {
  let reads = 0;
  const res = Object.assign(new EventEmitter(), {
    headersSent: true,
    destroyed: false,
    write: () => false,
    destroy: () => {},
  });
  const client = new ClientStream(res as unknown as Response, {
    headersAfterMs: LONG_MS,
    keepAliveMs: LONG_MS,
    slowReaderMs: LONG_MS,
  });
  client.reader = {
    clientLeft() {},
    clientRead() {
      reads += 1;
      client.write([Buffer.from('more')]);
    },
  };
  client.write([Buffer.from('first')]);
  for (let drained = 1; drained <= 3; drained += 1) {
    res.emit('drain');
    expect(reads).toBe(drained);
  }
  client.detach();
});

it('is over from the beginning where its client left before, and keeps no timer', () => {
  jest.useFakeTimers();
  try {
    const res = Object.assign(new EventEmitter(), { headersSent: false, destroyed: true, destroy: () => {} });
    const client = new ClientStream(res as unknown as Response, {
      headersAfterMs: LONG_MS,
      keepAliveMs: LONG_MS,
      slowReaderMs: LONG_MS,
    });
    expect([client.hasLeft, jest.getTimerCount()]).toEqual([true, 0]);
  } finally {
    jest.useRealTimers();
  }
});

it.each([
  ['is whole', (client: ClientStream) => client.end('data: [DONE]\n\n')],
  ['has failed', (client: ClientStream) => client.end('data: {}\n\n')],
])(
  'cuts a client that does not read the end of a stream that %s, and the call hears nothing of it',
  async (_case, end) => {
    const res = await anUnreadResponse();
    const client = new ClientStream(res, { headersAfterMs: LONG_MS, keepAliveMs: LONG_MS, slowReaderMs: 100 });
    let hasHeard = false;
    const clientLeft = () => {
      hasHeard = true;
    };
    client.reader = { clientLeft, clientRead() {} };
    expect(client.write([Buffer.alloc(MORE_THAN_A_SOCKET_TAKES, 'x')])).toBe(false);
    end(client);
    expect(res.destroyed).toBe(false);
    await until('the response is destroyed', () => res.destroyed);
    expect(res.writableFinished).toBe(false);
    expect(hasHeard).toBe(false);
  },
);

it.each([
  ['a comment line', undefined, ': keep-alive\n'],
  ['the event of an API that has one', MESSAGE_EVENTS.keepAlive, 'event: ping\ndata: {"type":"ping"}\n\n'],
])('fills a silence with %s', (_case, keepAlive, text) => {
  jest.useFakeTimers();
  try {
    const written: string[] = [];
    const res = Object.assign(new EventEmitter(), {
      headersSent: false,
      destroyed: false,
      useChunkedEncodingByDefault: false,
      writeHead() {},
      flushHeaders() {
        res.headersSent = true;
      },
      write: (bytes: Buffer) => written.push(bytes.toString()) > 0,
    });
    const times = { headersAfterMs: 10, keepAliveMs: 15, slowReaderMs: LONG_MS };
    const client = new ClientStream(res as unknown as Response, times, keepAlive);
    jest.advanceTimersByTime(10 + 15 + 15);
    expect(written).toEqual([text, text]);
    client.detach();
  } finally {
    jest.useRealTimers();
  }
});
