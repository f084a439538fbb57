import type { Readable } from 'node:stream';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { contentStream } from '../contentStream.ts';
import type { ByteRange, ObjectContent } from '../objectStore.ts';
import { beyondTheEnd } from '../objectStore.ts';
import { unavailable } from '../objectStoreError.ts';
import type { S3Connection } from './s3Connection.ts';
import { toStoreError } from './toStoreError.ts';

const CONTENT_RANGE = /^bytes (\d+)-(\d+)\/(\d+)$/;

/** Begins to read an object. An answer that is not what was asked for is no answer. */
export async function getContent(
  connection: S3Connection,
  key: string,
  range: ByteRange | undefined,
): Promise<ObjectContent> {
  const request = {
    Bucket: connection.bucket,
    Key: key,
    ...(range && { Range: `bytes=${range.start}-${range.end}` }),
  };
  const answer = await connection.sendForContent(new GetObjectCommand(request)).catch((error: unknown) => {
    throw (error as Error).name === 'InvalidRange' ? beyondTheEnd() : toStoreError(error);
  });
  const body = answer.Body as Readable | undefined;
  const { ContentLength: contentBytes, ContentType: contentType, ContentRange: contentRange, ETag: etag } = answer;
  const bytes = range ? toObjectBytes(contentRange, range, contentBytes) : contentBytes;
  if (!body || contentBytes === undefined || bytes === undefined || contentType === undefined || etag === undefined) {
    body?.on('error', () => undefined).destroy();
    throw unavailable('broken_off');
  }
  return { bytes, contentBytes, contentType, etag, content: contentStream(body, contentBytes, connection) };
}

/** The length of the whole object, as the answer to a range says it; undefined where that is of another range. */
function toObjectBytes(
  contentRange: string | undefined,
  { start, end }: ByteRange,
  contentBytes: number | undefined,
): number | undefined {
  const [, first, last, whole] = (CONTENT_RANGE.exec(contentRange ?? '') ?? []).map(Number);
  if (first !== start || last === undefined || whole === undefined) return undefined;
  return last === Math.min(end, whole - 1) && contentBytes === last - first + 1 ? whole : undefined;
}
