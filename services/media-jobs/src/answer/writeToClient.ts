import type { ServerResponse } from 'node:http';

/** Time after which a client that takes nothing is dropped. */
const SLOW_READER_MS = 60_000;

/** `sent`: the answer was written to its end. `left`: the client left before or was too slow. */
export type Delivery = 'sent' | 'left';

/**
 * Writes an answer as fast as its client reads it, and ends it. Rethrows an error of the source. Before that it cuts
 * the connection, so that no client takes a part for the whole. If nothing was written yet, not even the headers, the
 * connection stays open for an error response.
 */
export async function writeToClient(
  res: ServerResponse,
  source: AsyncIterable<Buffer | string>,
  { slowReaderMs = SLOW_READER_MS }: { slowReaderMs?: number } = {},
): Promise<Delivery> {
  try {
    for await (const piece of source) {
      // Leaving the loop closes the source.
      if (res.destroyed) return 'left';
      if (!res.write(piece) && !(await isTaken(res, slowReaderMs))) {
        res.destroy();
        return 'left';
      }
    }
  } catch (error) {
    if (res.headersSent) res.destroy();
    throw error;
  }
  if (res.destroyed) return 'left';
  res.end();
  return 'sent';
}

/**
 * Waits until the client has taken what was written. Resolves false if it leaves or takes nothing for `slowReaderMs`.
 */
function isTaken(res: ServerResponse, slowReaderMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isDrained: boolean) => (): void => {
      clearTimeout(timer);
      res.off('drain', onDrain);
      res.off('close', onClose);
      resolve(isDrained);
    };
    const onDrain = end(true);
    const onClose = end(false);
    const timer = setTimeout(onClose, slowReaderMs);
    res.on('drain', onDrain);
    res.on('close', onClose);
  });
}

/** Headers of server-sent events, which proxies must not cache, change or buffer. */
export const EVENT_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
};

/** Returns one event. Its type is in the JSON, as media APIs have it. */
export const toEvent = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;
