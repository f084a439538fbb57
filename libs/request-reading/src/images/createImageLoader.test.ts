import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { aGif, aJpeg, aPng } from '@turnpike/test-support/anImage';
import { until } from '@turnpike/test-support/until';
import { anImageHost, type ImageHost } from '../../test/anImageHost.ts';
import { createBodyMemory } from '../shares/bodyMemory.ts';
import { createImageLoader, type ImageLoader } from './createImageLoader.ts';

const hosts: ImageHost[] = [];
afterEach(() => {
  for (const host of hosts.splice(0)) host.close();
});

const LONG_MS = 60_000;
const PNG = aPng();
const inline = (bytes: Buffer, mimeType = 'image/png') => `data:${mimeType};base64,${bytes.toString('base64')}`;

async function open(answer: (res: ServerResponse, path: string) => void): Promise<ImageHost> {
  const host = await anImageHost((res, req) => answer(res, req.url ?? ''));
  hosts.push(host);
  return host;
}

/** Room for so many bytes of one key, which gets half of what there is. */
const aRoom = (bytes: number) => createBodyMemory(2 * bytes).open('key_1');

const ROOMY = { inAll: 100, perWorkspace: 100, waitingPerKey: 100 };

function aLoader({ timeoutMs = LONG_MS, waitMs = LONG_MS, limits = ROOMY } = {}): ImageLoader {
  const privateHosts = new Set(hosts.map(({ hostAndPort }) => hostAndPort));
  return createImageLoader({ privateHosts, resolve: async () => [], times: { timeoutMs, waitMs }, limits });
}

const load = (loader: ImageLoader, urls: string[], options: Partial<Parameters<ImageLoader['load']>[1]> = {}) =>
  loader.load(urls, {
    workspaceId: 'ws_1',
    keyId: 'key_1',
    room: aRoom(1_000_000),
    signal: new AbortController().signal,
    ...options,
  });

it('makes data URLs of what it fetched, by the media type of the bytes and not of the header, each address once', async () => {
  const files: Record<string, Buffer> = { '/a': PNG, '/b': aJpeg(), '/c': aGif() };
  const host = await open((res, path) => res.writeHead(200, { 'content-type': 'text/html' }).end(files[path]));
  const [a, b, c] = ['/a', '/b', '/c'].map((path) => `${host.url}${path}`) as [string, string, string];
  const loaded = await load(aLoader(), [a, b, inline(PNG), a, c, a]);
  expect(new Map(Array.from(loaded, ([url, bytes]) => [url, bytes.toString()]))).toEqual(
    new Map([
      [a, inline(PNG)],
      [b, inline(aJpeg(), 'image/jpeg')],
      [c, inline(aGif(), 'image/gif')],
    ]),
  );
  expect(host.requests).toHaveLength(3);
});

it('fetches all images of a call at once', async () => {
  const waiting: ServerResponse[] = [];
  const host = await open((res) => {
    waiting.push(res);
    if (waiting.length === 16) for (const each of waiting) each.end(PNG);
  });
  const urls = Array.from({ length: 16 }, (_, index) => `${host.url}/${index}`);
  expect((await load(aLoader(), urls)).size).toBe(16);
});

it.each<[string, string, string]>([
  ['HTML', inline(Buffer.from('<html></html>')), 'not_an_image'],
  ['too many pixels', inline(aPng({ width: 50_000, height: 50_000 })), 'too_many_pixels'],
  ['base64 that is cut off', inline(PNG).replace(/=*$/, '').slice(0, -1), 'not_an_image'],
])('refuses an inline image of %s, and fetches nothing beside it', async (_case, url, reason) => {
  const host = await open((res) => res.end(PNG));
  await expect(load(aLoader(), [`${host.url}/a`, url])).rejects.toThrow(reason);
  expect(host.connections).toBe(0);
});

it('takes an inline image whose address names another format: engines go by the bytes', async () => {
  expect(await load(aLoader(), [inline(aJpeg(), 'image/png')])).toEqual(new Map());
});

it('refuses what was fetched and is none', async () => {
  const host = await open((res) => res.writeHead(200, { 'content-type': 'image/png' }).end('<svg/>'));
  await expect(load(aLoader(), [host.url])).rejects.toThrow('not_an_image');
});

describe('a time limit for all images of a call', () => {
  it('ends a host that sends a byte now and then', async () => {
    const host = await open((res) => {
      const timer = setInterval(() => res.write(PNG.subarray(0, 1)), 20);
      res.on('close', () => clearInterval(timer));
    });
    await expect(load(aLoader({ timeoutMs: 200 }), [host.url])).rejects.toThrow('too_slow');
    await until('the connection to be closed', () => host.openConnections === 0);
  });

  it('covers redirects too', async () => {
    const host = await open((res, path) => {
      const redirect = () => res.writeHead(302, { location: `${path}x` }).end();
      if (path === '/xxx') return;
      setTimeout(redirect, 50);
    });
    await expect(load(aLoader({ timeoutMs: 400 }), [host.url])).rejects.toThrow('too_slow');
  });

  it('ends a name server that does not answer', async () => {
    const loader = createImageLoader({
      privateHosts: new Set(),
      resolve: (_name, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      times: { timeoutMs: 50, waitMs: LONG_MS },
      limits: { inAll: 1, perWorkspace: 1, waitingPerKey: 0 },
    });
    await expect(load(loader, ['http://silent.example/'])).rejects.toThrow('too_slow');
  });
});

it('lets go of the other images as soon as one is refused', async () => {
  const waiting = new Map<string, ServerResponse>();
  const host = await open((res, path) => {
    waiting.set(path, res);
    if (waiting.size === 2) waiting.get('/missing')?.writeHead(404).end();
  });
  await expect(load(aLoader(), [`${host.url}/never`, `${host.url}/missing`])).rejects.toThrow();
  await until('both connections to be closed', () => host.openConnections === 0);
});

describe('memory', () => {
  it('is taken for every byte that is fetched', async () => {
    const host = await open((res) => res.end(PNG));
    const budget = createBodyMemory(4 * PNG.length);
    const room = budget.open('key_1');
    await load(aLoader(), [`${host.url}/a`, `${host.url}/b`], { room });
    expect(budget.open('key_1').take(1)).toBe(false);
    room.close();
    expect(budget.open('key_1').take(2 * PNG.length)).toBe(true);
  });

  it('that is not there is said as such, and no more is taken afterwards', async () => {
    const host = await open((res) => res.end(PNG));
    const budget = createBodyMemory(2 * PNG.length);
    const [others, room] = [budget.open('key_2'), budget.open('key_1')];
    others.take(1);
    const fault = { fault: { kind: 'no_room_for_body' } };
    await expect(load(aLoader(), [host.url], { room })).rejects.toMatchObject(fault);
    room.close();
    await until('the connection to be closed', () => host.openConnections === 0);
    expect(budget.open('key_1').take(PNG.length - 1)).toBe(true);
  });

  it('would not be there for so many images if nobody else had any: the client is not told to come again', async () => {
    const host = await open((res) => res.end(PNG));
    const urls = ['a', 'b', 'c'].map((name) => `${host.url}/${name}`);
    const room = aRoom(3 * PNG.length - 1);
    await expect(load(aLoader(), urls, { room })).rejects.toThrow('too_large');
  });
});

describe('fetches under way', () => {
  const noRoom = { fault: { kind: 'no_room_for_body' } };
  const tooMany = { fault: { kind: 'key_bound_reached', bound: 'image_fetches' } };
  const urlsOf = (host: ImageHost, count: number) =>
    Array.from({ length: count }, (_, index) => `${host.url}/${index}`);
  /** A host that answers nothing by itself. */
  async function aSilentHost() {
    const waiting: ServerResponse[] = [];
    const host = await open((res) => {
      waiting.push(res);
      res.on('close', () => waiting.splice(waiting.indexOf(res), 1));
    });
    const untilAsked = (count: number) => until(`${count} requests`, () => waiting.length === count);
    const answer = () => {
      for (const res of waiting) res.end(PNG);
    };
    return { host, untilAsked, answer };
  }

  it('are bounded for a workspace and in all, and what is above waits until others ended', async () => {
    const { host, untilAsked, answer } = await aSilentHost();
    const loader = aLoader({ limits: { inAll: 5, perWorkspace: 3, waitingPerKey: 9 } });
    const first = load(loader, urlsOf(host, 4));
    await untilAsked(3);
    const second = load(loader, urlsOf(host, 4), { workspaceId: 'ws_2', keyId: 'key_2' });
    await untilAsked(5);
    const timer = setInterval(answer, 1);
    const loaded = await Promise.all([first, second]).finally(() => clearInterval(timer));
    expect(loaded.map(({ size }) => size)).toEqual([4, 4]);
  });

  it('give way to a workspace that has fewer, and begin anew in their turn', async () => {
    const { host, untilAsked, answer } = await aSilentHost();
    const loader = aLoader({ limits: { inAll: 4, perWorkspace: 4, waitingPerKey: 9 } });
    const greedy = load(loader, urlsOf(host, 4));
    await untilAsked(4);
    const modest = load(loader, urlsOf(host, 2), { workspaceId: 'ws_2', keyId: 'key_2' });
    await until('the modest to have been asked for', () => host.requests.length === 6);
    await untilAsked(4);
    const timer = setInterval(answer, 1);
    const loaded = await Promise.all([greedy, modest]).finally(() => clearInterval(timer));
    expect(loaded.map(({ size }) => size)).toEqual([4, 2]);
    expect(host.requests).toHaveLength(8);
  });

  it('that never get their turn are refused as the workspace’s own, or as nobody’s', async () => {
    const { host, untilAsked } = await aSilentHost();
    const loader = aLoader({ waitMs: 50, limits: { inAll: 1, perWorkspace: 1, waitingPerKey: 9 } });
    const leaving = new AbortController();
    const holding = load(loader, urlsOf(host, 1), { signal: leaving.signal });
    await untilAsked(1);
    await expect(load(loader, urlsOf(host, 1))).rejects.toMatchObject(tooMany);
    await expect(load(loader, urlsOf(host, 1), { workspaceId: 'ws_2', keyId: 'key_2' })).rejects.toMatchObject(noRoom);
    leaving.abort(new Error('left'));
    await expect(holding).rejects.toThrow('left');
  });

  it('that wait are bounded for a key, and the call is refused at once', async () => {
    const { host } = await aSilentHost();
    const loader = aLoader({ limits: { inAll: 9, perWorkspace: 1, waitingPerKey: 1 } });
    await expect(load(loader, urlsOf(host, 3))).rejects.toMatchObject(tooMany);
    await until('the connection to be closed', () => host.openConnections === 0);
  });

  it('that had no turn by the call’s time limit are not said to be too slow', async () => {
    const { host } = await aSilentHost();
    const limits = { inAll: 1, perWorkspace: 1, waitingPerKey: 9 };
    await expect(load(aLoader({ timeoutMs: 50, limits }), urlsOf(host, 2))).rejects.toMatchObject(tooMany);
    await expect(load(aLoader({ timeoutMs: 50, limits }), urlsOf(host, 1))).rejects.toThrow('too_slow');
  });

  it('take no room twice for an image that is fetched anew', async () => {
    const { host, untilAsked, answer } = await aSilentHost();
    const half = await open((res) => void res.write(PNG.subarray(0, 20)));
    const loader = aLoader({ limits: { inAll: 2, perWorkspace: 2, waitingPerKey: 9 } });
    const taken: number[] = [];
    const room = { ...aRoom(0), take: (bytes: number) => taken.push(bytes) > 0, couldTake: () => true };
    const leaving = new AbortController();
    const greedy = load(loader, [`${half.url}/0`, `${half.url}/1`], { room, signal: leaving.signal });
    await until('the first bytes of both', () => taken.length === 2);
    const modest = load(loader, urlsOf(host, 1), { workspaceId: 'ws_2', keyId: 'key_2' });
    await untilAsked(1);
    answer();
    await modest;
    await until('an image to be fetched anew', () => half.requests.length === 3);
    await until('its bytes', () => taken.length === 3);
    expect(taken).toEqual([20, 20, 0]);
    leaving.abort(new Error('left'));
    await expect(greedy).rejects.toThrow('left');
  });

  it('do not count inline images', async () => {
    const loader = aLoader({ limits: { inAll: 0, perWorkspace: 0, waitingPerKey: 0 } });
    expect(await load(loader, [inline(PNG)])).toEqual(new Map());
  });
});

it('fetches nothing for a client that has left', async () => {
  const host = await open((res) => res.end(PNG));
  const signal = AbortSignal.abort(new Error('left'));
  await expect(load(aLoader(), [host.url], { signal })).rejects.toThrow('left');
  expect(host.connections).toBe(0);
});
