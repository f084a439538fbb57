import type { ServerResponse } from 'node:http';

/** A client that takes nothing for so long is dropped. */
const SLOW_READER_MS = 60_000;

/** Whether an answer was written to its end, or its client left before, or took too little of it. */
export type Delivery = 'sent' | 'left';

/**
 * Writes an answer as fast as its client takes it, and ends it. What the source throws is thrown after the connection was cut, so that no
 * client takes a part for the whole; where nothing was written yet, the head not either, the answer is still to be given.
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

/** Waits until the client has taken what was written; false where it leaves, or takes nothing for too long. */
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

/** Headers of server-sent events, which nothing on the way may keep, change or hold back. */
export const EVENT_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
};

/** One event: media have their type in the JSON. */
export const toEvent = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;
