import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { toSlices } from '../terms/engineJson.ts';

/** A body as undici sends it, with the headers that this takes. */
export interface SentBody {
  body: Buffer | Readable;
  headers?: { 'content-length': string };
}

/** A body in pieces. A long one is sent slice by slice. */
export function toSentBody(pieces: readonly Buffer[]): SentBody {
  const slices = toSlices(pieces);
  const [first] = slices;
  if (slices.length === 1 && first) return { body: first };
  const size = slices.reduce((sum, { length }) => sum + length, 0);
  return { body: Readable.from(oneInEachTurn(slices)), headers: { 'content-length': String(size) } };
}

async function* oneInEachTurn(slices: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (const slice of slices) {
    yield slice;
    await nextTurn();
  }
}
