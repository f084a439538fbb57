import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { Logger } from '@turnpike/logging/createLogger';
import { measureStream } from '../measureStream.ts';
import type { PutOptions, StoredBytes } from '../objectStore.ts';
import { ObjectStoreError, unavailable } from '../objectStoreError.ts';
import type { S3Connection } from './s3Connection.ts';
import { type Part, toParts } from './toParts.ts';
import { toStoreError } from './toStoreError.ts';

/** The least that stores take for a part that is not the last. */
const PART_BYTES = 5 * 1024 * 1024;
/** Tells a put's own object from another's, where the answer to it was lost. */
const PUT_ID = 'turnpike-put';

interface ObjectPut {
  connection: S3Connection;
  log: Logger;
  /** The object, as each request names it. */
  place: { Bucket: string; Key: string };
  /** Content type and metadata of the new object. */
  about: { ContentType: string; Metadata: Record<string, string> };
  putId: string;
}

/**
 * Stores a stream as one object, or as parts that become one: one part is in memory at a time. The object is there only once the
 * stream has ended well.
 */
export async function putParts(
  { connection, log }: { connection: S3Connection; log: Logger },
  key: string,
  source: Readable,
  { contentType, ...limits }: PutOptions,
): Promise<StoredBytes> {
  const putId = randomUUID();
  const put: ObjectPut = {
    connection,
    log,
    place: { Bucket: connection.bucket, Key: key },
    about: { ContentType: contentType, Metadata: { [PUT_ID]: putId } },
    putId,
  };
  const { chunks, total } = measureStream(source, { ...limits, idleTimeoutMs: connection.idleTimeoutMs });
  const parts = toParts(chunks, PART_BYTES);
  try {
    const { value: first } = await parts.next();
    if (!first || first.isLast) await putWhole(put, first?.bytes ?? Buffer.alloc(0));
    else await putUpload(put, first, parts);
  } finally {
    source.destroy();
  }
  return total();
}

async function putWhole(put: ObjectPut, bytes: Buffer): Promise<void> {
  const { connection, place, about } = put;
  const request = { ...place, ...about, Body: bytes, ContentLength: bytes.length, IfNoneMatch: '*' };
  await commit(put, () => connection.send(new PutObjectCommand(request)));
}

async function putUpload(put: ObjectPut, first: Part, others: AsyncIterable<Part>): Promise<void> {
  const { connection, place, about } = put;
  const begun = await connection.send(new CreateMultipartUploadCommand({ ...place, ...about })).catch(throwStoreError);
  if (begun.UploadId === undefined) throw unavailable('broken_off');
  const upload = { ...place, UploadId: begun.UploadId };
  try {
    const parts = [await putPart(connection, upload, 1, first.bytes)];
    for await (const { bytes } of others) parts.push(await putPart(connection, upload, parts.length + 1, bytes));
    const request = { ...upload, MultipartUpload: { Parts: parts }, IfNoneMatch: '*' };
    await commit(put, () => connection.send(new CompleteMultipartUploadCommand(request)));
  } catch (error) {
    await abortUpload(connection, upload).catch((cause: unknown) =>
      put.log.warn({ err: cause }, 'parts of a failed upload stay in the object store until they are swept'),
    );
    throw error;
  }
}

interface Upload {
  Bucket: string;
  Key: string;
  UploadId: string;
}

async function putPart(
  connection: S3Connection,
  upload: Upload,
  PartNumber: number,
  Body: Buffer,
): Promise<{ ETag: string; PartNumber: number }> {
  const request = { ...upload, PartNumber, Body };
  const { ETag } = await connection.send(new UploadPartCommand(request)).catch(throwStoreError);
  if (ETag === undefined) throw unavailable('broken_off');
  return { ETag, PartNumber };
}

/** Drops the parts of an upload; one that is not there is dropped. */
export async function abortUpload(connection: S3Connection, upload: Upload): Promise<void> {
  try {
    await connection.send(new AbortMultipartUploadCommand(upload));
  } catch (error) {
    if ((error as Error).name !== 'NoSuchUpload') throw toStoreError(error);
  }
}

/**
 * Sends the request that makes the object appear. A failed request may have made it appear all the same: if the
 * response was lost, the next try finds this put's own object. The failure therefore counts only if the object there is
 * not this put's.
 */
async function commit(put: ObjectPut, send: () => Promise<unknown>): Promise<void> {
  try {
    await send();
  } catch (error) {
    const found = await readPutId(put).catch(() => undefined);
    if (found === put.putId) return;
    throw found === undefined ? toStoreError(error) : new ObjectStoreError('exists', { cause: error });
  }
}

/** Which put the object is of; undefined where there is none, and empty where it is of a stranger. */
async function readPutId({ connection, place }: ObjectPut): Promise<string | undefined> {
  const head = await connection.send(new HeadObjectCommand(place));
  return head.Metadata?.[PUT_ID] ?? '';
}

function throwStoreError(error: unknown): never {
  throw toStoreError(error);
}
