import type { ServerResponse } from 'node:http';
import { aGif, aJpeg, aPng, aWebp } from '@turnpike/test-support/anImage';
import { serveHttp } from '@turnpike/test-support/serveHttp';

export const PNG = aPng({ width: 640, height: 480 });

interface Listener {
  url: string;
  paths: string[];
  connections: number;
  openConnections: number;
  close(): Promise<void>;
}

/** The web, as far as the stack may reach it. */
export let web: Listener;
/** A listener of this machine that it may not reach. */
export let canary: Listener;

export async function openWeb(): Promise<Listener> {
  canary = await listen((_path, res) => res.end(PNG));
  web = await listen(serve);
  return web;
}

export async function closeWeb(): Promise<void> {
  await web?.close();
  await canary?.close();
}

const FILES: Record<string, Buffer | string> = {
  '/cat.png': PNG,
  '/cat.jpeg': aJpeg(),
  '/cat.gif': aGif(),
  '/cat.webp': aWebp(),
  '/page': '<!doctype html><p>Hello</p>',
  '/drawing': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  '/huge.png': aPng({ width: 50_000, height: 50_000 }),
  '/half.png': PNG.subarray(0, PNG.length - 5),
};

function serve(path: string, res: ServerResponse): void {
  const hops = /^\/hops\/(\d+)$/.exec(path)?.[1];
  const file = FILES[path];
  if (file !== undefined) res.end(file);
  else if (hops !== undefined)
    res.writeHead(302, { location: hops === '0' ? '/cat.png' : `${Number(hops) - 1}` }).end();
  else if (path === '/inside') res.writeHead(307, { location: `${canary.url}/cat.png` }).end();
  else if (path === '/compressed') res.writeHead(200, { 'content-encoding': 'gzip' }).end(PNG);
  else if (path === '/slow') res.write(PNG.subarray(0, 9));
  else res.writeHead(404).end(PNG);
}

async function listen(answer: (path: string, res: ServerResponse) => void): Promise<Listener> {
  const { url, server, close } = await serveHttp((req, res) => {
    listener.paths.push(req.url ?? '');
    answer(req.url ?? '', res);
  });
  server.on('connection', (socket) => {
    listener.connections += 1;
    listener.openConnections += 1;
    socket.on('close', () => {
      listener.openConnections -= 1;
    });
  });
  const listener: Listener = {
    url,
    paths: [],
    connections: 0,
    openConnections: 0,
    close,
  };
  return listener;
}
