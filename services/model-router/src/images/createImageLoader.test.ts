import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { aGif, aJpeg, aPng } from '@turnpike/test-support/anImage';
import { until } from '@turnpike/test-support/until';
import { anImageHost, type ImageHost } from '../../test/anImageHost.ts';
import { createBodyMemory } from '../wire/bodyMemory.ts';
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

function aLoader({ timeoutMs = LONG_MS, limits = { inAll: 100, perWorkspace: 100 } } = {}): ImageLoader {
  const privateHosts = new Set(hosts.map(({ hostAndPort }) => hostAndPort));
  return createImageLoader({ privateHosts, resolve: async () => [], timeoutMs, limits });
}

const load = (loader: ImageLoader, urls: string[], options: Partial<Parameters<ImageLoader['load']>[1]> = {}) =>
  loader.load(urls, {
    workspaceId: 'ws_1',
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
      timeoutMs: 50,
      limits: { inAll: 1, perWorkspace: 1 },
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

  it('are bounded for a workspace and in all, and what ended makes room again', async () => {
    const waiting: ServerResponse[] = [];
    const host = await open((res) => void waiting.push(res));
    const urls = (count: number) => Array.from({ length: count }, (_, index) => `${host.url}/${index}`);
    const loader = aLoader({ limits: { inAll: 5, perWorkspace: 3 } });
    const first = load(loader, urls(3));
    await expect(load(loader, urls(1))).rejects.toMatchObject(noRoom);
    await expect(load(loader, urls(3), { workspaceId: 'ws_2' })).rejects.toMatchObject(noRoom);
    const second = load(loader, urls(2), { workspaceId: 'ws_2' });
    await expect(load(loader, urls(1), { workspaceId: 'ws_3' })).rejects.toMatchObject(noRoom);
    await until('all requests to come', () => waiting.length === 5);
    for (const res of waiting.splice(0)) res.end(PNG);
    await Promise.all([first, second]);
    const third = load(loader, urls(3));
    await until('all requests to come', () => waiting.length === 3);
    for (const res of waiting) res.end(PNG);
    expect((await third).size).toBe(3);
  });

  it('do not count inline images', async () => {
    const loader = aLoader({ limits: { inAll: 0, perWorkspace: 0 } });
    expect(await load(loader, [inline(PNG)])).toEqual(new Map());
  });
});

it('fetches nothing for a client that has left', async () => {
  const host = await open((res) => res.end(PNG));
  const signal = AbortSignal.abort(new Error('left'));
  await expect(load(aLoader(), [host.url], { signal })).rejects.toThrow('left');
  expect(host.connections).toBe(0);
});
