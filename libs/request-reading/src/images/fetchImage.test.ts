import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { aPng } from '@turnpike/test-support/anImage';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { until } from '@turnpike/test-support/until';
import { anImageHost, type ImageHost } from '../../test/anImageHost.ts';
import { privateAddressForms } from '../../test/privateAddressForms.ts';
import { type FetchImageOptions, fetchImage } from './fetchImage.ts';
import { ImageError } from './imageError.ts';
import { requestImage } from './requestImage.ts';

const PNG = aPng();
const MIB = 1_048_576;
const hosts: ImageHost[] = [];
afterEach(() => {
  for (const host of hosts.splice(0)) host.close();
});

async function open(answer: (res: ServerResponse, req: IncomingMessage) => void): Promise<ImageHost> {
  const host = await anImageHost(answer);
  hosts.push(host);
  return host;
}

/** Fetches with these hosts exempt; gives the bytes, or why there are none. */
async function fetched(
  url: string,
  { exempt = hosts, ...options }: Partial<FetchImageOptions> & { exempt?: ImageHost[] } = {},
): Promise<Buffer | string> {
  try {
    return await fetchImage(url, {
      privateHosts: new Set(exempt.map(({ hostAndPort }) => hostAndPort)),
      resolve: async () => ['127.0.0.1'],
      signal: new AbortController().signal,
      takeRoom: () => {},
      ...options,
    });
  } catch (error) {
    if (error instanceof ImageError) return error.reason;
    throw error;
  }
}

const redirectTo = (res: ServerResponse, location: string, status = 302) =>
  res.writeHead(status, { location }).end('moved');

it('asks for what the client named, plainly, and for nothing compressed', async () => {
  const host = await open((res) => res.end(PNG));
  expect(await fetched(`${host.url}/a%20b.png?x=1&y=2#part`)).toEqual(PNG);
  const [request] = host.requests;
  expect(request).toMatchObject({ method: 'GET', url: '/a%20b.png?x=1&y=2' });
  expect(request?.headers).toEqual({
    host: host.hostAndPort,
    connection: expect.any(String),
    accept: expect.stringContaining('image/png'),
    'accept-encoding': 'identity',
    'user-agent': 'Turnpike',
  });
});

it('dials the address that was checked, and names the host it is for', async () => {
  const host = await open((res) => res.end(PNG));
  const { port } = new URL(host.url);
  const url = new URL(`http://no-such-name.invalid:${port}/a.png`);
  const { signal } = new AbortController();
  const status = await requestImage(url, { addresses: ['127.0.0.1'], signal }, async ({ statusCode }) => statusCode);
  expect(status).toBe(200);
  expect(host.requests[0]?.headers.host).toBe(url.host);
});

it('opens no connection to a machine of ours, however its address is spelt', async () => {
  const canary = await open((res) => res.end(PNG));
  const { port } = new URL(canary.url);
  const forms = privateAddressForms().flatMap((form) => {
    const url = URL.parse(form);
    if (!url) return [form];
    url.port = port;
    return [form, url.href];
  });
  for (const form of forms)
    expect([form, await fetched(form, { exempt: [] })]).toEqual([
      form,
      expect.stringMatching(/^(?:address_not_public|url_not_allowed)$/),
    ]);
  expect(canary.connections).toBe(0);
});

describe('redirects', () => {
  /** Redirects as often as the path says, then answers. */
  const countdown = () =>
    open((res, req) => {
      const left = Number(req.url?.slice(1));
      if (left === 0) res.end(PNG);
      else redirectTo(res, `/${left - 1}`, [301, 302, 303, 307, 308][left % 5]);
    });

  it('are followed three times and no more', async () => {
    const host = await countdown();
    expect(await fetched(`${host.url}/3`)).toEqual(PNG);
    expect(await fetched(`${host.url}/4`)).toBe('too_many_redirects');
    expect(await fetched(`${host.url}/11`)).toBe('too_many_redirects');
    expect(host.requests).toHaveLength(12);
  });

  it('that go round in a circle are given up', async () => {
    const host = await open((res, req) => redirectTo(res, req.url ?? ''));
    expect(await fetched(`${host.url}/a`)).toBe('too_many_redirects');
    expect(host.requests).toHaveLength(4);
  });

  it('to a private address are refused before a connection is made', async () => {
    const canary = await open((res) => res.end(PNG));
    const host = await open((res) => redirectTo(res, `${canary.url}/a.png`));
    expect(await fetched(`${host.url}/`, { exempt: [host] })).toBe('url_not_allowed');
    const unusual = await open((res) => redirectTo(res, 'http://127.0.0.1/'));
    expect(await fetched(`${unusual.url}/`, { exempt: [unusual] })).toBe('address_not_public');
    expect(canary.connections).toBe(0);
  });

  it('to a name whose second answer is private are refused: each hop is looked up and checked', async () => {
    const host = await open((res) => redirectTo(res, 'http://rebinding.example/'));
    const { port } = new URL(host.url);
    const answers = [['127.0.0.1'], ['8.8.8.8', '10.0.0.1']];
    const verdict = await fetched(`http://images.example:${port}/`, {
      privateHosts: new Set([`images.example:${port}`]),
      resolve: async () => answers.shift() ?? [],
    });
    expect(verdict).toBe('address_not_public');
    expect(answers).toEqual([]);
  });

  it('without a place to go are no image', async () => {
    const host = await open((res) => res.writeHead(302).end());
    expect(await fetched(host.url)).toBe('unexpected_status');
  });
});

describe('an answer that is not the image', () => {
  it.each([204, 206, 304, 400, 401, 403, 404, 429, 500, 503])('status %i', async (status) => {
    const host = await open((res) => res.writeHead(status).end());
    expect(await fetched(host.url)).toBe('unexpected_status');
  });

  it.each(['gzip', 'br', 'deflate', 'zstd', 'gzip, gzip', 'x'])('compressed as %s', async (encoding) => {
    const host = await open((res) => res.writeHead(200, { 'content-encoding': encoding }).end(gzipSync(PNG)));
    expect(await fetched(host.url)).toBe('encoded');
  });

  it('announced as larger than 20 MiB, without reading it', async () => {
    const host = await open((res) => {
      res.writeHead(200, { 'content-length': 20 * MIB + 1 }).write(PNG);
    });
    let taken = 0;
    const takeRoom = (bytes: number) => {
      taken += bytes;
    };
    expect(await fetched(host.url, { takeRoom })).toBe('too_large');
    expect(taken).toBe(0);
    await until('the connection to be closed', () => host.openConnections === 0);
  });

  it('without an end, cut at 20 MiB', async () => {
    const host = await open((res) => {
      const part = Buffer.alloc(MIB);
      const pump = (): void => {
        while (!res.destroyed && res.write(part));
      };
      res.on('drain', pump);
      pump();
    });
    let taken = 0;
    const takeRoom = (bytes: number) => {
      taken += bytes;
    };
    expect(await fetched(host.url, { takeRoom })).toBe('too_large');
    expect(taken).toBeLessThanOrEqual(20 * MIB);
    await until('the connection to be closed', () => host.openConnections === 0);
  });

  it('of just 20 MiB is taken', async () => {
    const bytes = Buffer.alloc(20 * MIB, 1);
    const host = await open((res) => res.end(bytes));
    expect(await fetched(host.url)).toHaveLength(bytes.length);
  });

  it.each<[string, (res: ServerResponse) => void]>([
    ['a connection that is reset', (res) => res.destroy()],
    [
      'a body that breaks off',
      (res) => {
        res.writeHead(200, { 'content-length': 100 }).write('half');
        setImmediate(() => res.destroy());
      },
    ],
    ['no HTTP', (res) => res.socket?.end('SSH-2.0-OpenSSH_9.9\r\n')],
    ['headers without end', (res) => res.socket?.write(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(200_000)}`)],
  ])('%s', async (_case, answer) => {
    const host = await open(answer);
    expect(await fetched(host.url)).toBe('connection_failed');
    await until('the connection to be closed', () => host.openConnections === 0);
  });

  it('a port where nobody listens', async () => {
    const hostAndPort = `127.0.0.1:${await findFreePort()}`;
    expect(await fetched(`http://${hostAndPort}`, { privateHosts: new Set([hostAndPort]) })).toBe('connection_failed');
  });

  it('https where none is spoken', async () => {
    const host = await open((res) => res.end(PNG));
    expect(await fetched(host.url.replace('http:', 'https:'))).toBe('connection_failed');
  });
});

describe('an aborted fetch', () => {
  it.each<[string, (res: ServerResponse) => void]>([
    ['before an answer', () => {}],
    ['between the headers and the body', (res) => res.writeHead(200).flushHeaders()],
    ['within the body', (res) => void res.write(PNG.subarray(0, 9))],
  ])('%s ends with what it was aborted with, and its connection with it', async (_when, answer) => {
    const host = await open(answer);
    const aborting = new AbortController();
    const fetching = fetched(host.url, { signal: aborting.signal });
    await until('the request to come', () => host.requests.length === 1);
    aborting.abort(new ImageError('too_slow'));
    expect(await fetching).toBe('too_slow');
    await until('the connection to be closed', () => host.openConnections === 0);
  });
});

it('an error of ours is not taken for one of the network', async () => {
  const host = await open((res) => res.end(PNG));
  const takeRoom = () => {
    throw new TypeError('a mistake');
  };
  await expect(fetched(host.url, { takeRoom })).rejects.toThrow('a mistake');
});
