import type { IncomingMessage, ServerResponse } from 'node:http';
import type { StoredOutput } from '../../terms/job.ts';
import { type Delivery, writeToClient } from '../writeToClient.ts';
import { parseRange, type Range } from './parseRange.ts';

/** Something that was made, and how its bytes are read. */
export interface Content extends Pick<StoredOutput, 'bytes' | 'sha256' | 'type'> {
  /** Under which a browser would keep it, without an extension. */
  name: string;
  open(range: Range): Promise<AsyncIterable<Buffer>>;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'video/mp4': 'mp4',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'opus',
  'audio/aac': 'aac',
  'audio/flac': 'flac',
  'audio/wav': 'wav',
  'audio/pcm': 'pcm',
};

/** Headers of an answer for one key, which caches must not keep. */
export const OF_ONE_KEY = { 'cache-control': 'private, no-transform', 'x-content-type-options': 'nosniff' };

/**
 * Sends a content, or the requested range of it, so that an interrupted download can continue. An error of `open` is
 * thrown before anything is sent.
 */
export async function sendContent(
  { headers }: Pick<IncomingMessage, 'headers'>,
  res: ServerResponse,
  { bytes, sha256, type, name, open }: Content,
): Promise<Delivery> {
  const etag = `"${sha256}"`;
  // A range is useless if the client has bytes of another content.
  const isSame = headers['if-range'] === undefined || headers['if-range'] === etag;
  const range = isSame ? parseRange(headers.range, bytes) : undefined;
  const { start, end } = range ?? { start: 0, end: bytes - 1 };
  const extension = EXTENSIONS[type];
  const content = await open({ start, end });
  res.writeHead(range ? 206 : 200, {
    ...OF_ONE_KEY,
    'content-type': type,
    'content-length': end - start + 1,
    'content-disposition': `attachment; filename="${name}${extension === undefined ? '' : `.${extension}`}"`,
    'accept-ranges': 'bytes',
    etag,
    ...(range && { 'content-range': `bytes ${start}-${end}/${bytes}` }),
  });
  return writeToClient(res, content);
}
