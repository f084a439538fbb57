import { request } from 'node:http';
import { request as requestTls } from 'node:https';

const DEADLINE_MS = 10_000;

/** The end of one delivery: a status, or the reason why there is none. */
export type Outcome = { status: number } | { error: string };

interface PostOptions {
  url: string;
  body: string;
  headers: Record<string, string>;
  /** `before`: the connection ends before a byte is sent. `after`: it ends when the receiver has answered. */
  reset?: 'before' | 'after' | undefined;
  signal: AbortSignal;
}

/** Posts a body on a connection of its own. Follows no redirect. Never rejects. */
export function post({ url, body, headers, reset, signal }: PostOptions): Promise<Outcome> {
  return new Promise((resolve) => {
    const send = url.startsWith('https:') ? requestTls : request;
    const outgoing = send(url, {
      method: 'POST',
      agent: false,
      headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
      signal: AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]),
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => resolve({ error: error.code ?? error.message }));
    outgoing.on('response', (response) => {
      if (reset === 'after') {
        outgoing.destroy();
        resolve({ error: 'reset after the answer' });
        return;
      }
      response.resume();
      response.on('error', (error) => resolve({ error: error.message }));
      response.on('end', () => resolve({ status: response.statusCode ?? 0 }));
    });
    if (reset === 'before')
      outgoing.on('socket', (socket) =>
        socket.once('connect', () => {
          socket.resetAndDestroy();
          resolve({ error: 'reset before the event' });
        }),
      );
    else outgoing.end(body);
  });
}
