import { setTimeout as pause } from 'node:timers/promises';
import { createLogger } from '@turnpike/logging/createLogger';
import { z } from 'zod';
import { objectStoreSettings } from '../src/objectStoreSettings.ts';
import { openObjectStore } from '../src/openObjectStore.ts';
import { aStream, summarize } from './streams.ts';

/**
 * `node --expose-gc measureMemory.ts <key> <bytes>`, with the settings of a store: puts an object, reads it and deletes it. Prints
 * the peaks of both as JSON. A process of its own, since the heap of a test's takes seconds to look through.
 */
const [key = '', length = ''] = process.argv.slice(2);
const bytes = Number(length);
const log = createLogger({ service: 'object-store-test', level: 'silent' });
const store = await openObjectStore(z.object(objectStoreSettings).parse(process.env), { log });
const putBytes = await peakBytesDuring(() =>
  store.put(key, aStream(bytes), { contentType: 'video/mp4', maxBytes: bytes }),
);
const { content } = await store.get(key);
const readBytes = await peakBytesDuring(async () => {
  const read = await summarize(content);
  if (read.bytes !== bytes) throw new Error(`${read.bytes} bytes were read of ${bytes}`);
});
await store.delete(key);
await store.close();
console.log(JSON.stringify({ putBytes, readBytes }));

/** The most memory beside the heap of objects that is in use at a moment during `work`, above what it is now. */
async function peakBytesDuring(work: () => Promise<unknown>): Promise<number> {
  const { gc } = globalThis;
  if (!gc) throw new Error('to be run with --expose-gc');
  // Without it what nobody holds any more would be counted too.
  const usedBytes = (): number => {
    gc();
    gc(); // waits for what the first one frees beside
    return process.memoryUsage().arrayBuffers;
  };
  const before = usedBytes();
  let [peak, isOver] = [0, false];
  const worked = work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    peak = Math.max(peak, usedBytes() - before);
    await pause(50);
  }
  await worked;
  return peak;
}
