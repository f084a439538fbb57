import {
  DeleteObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3';
import type { Logger } from '@turnpike/logging/createLogger';
import type { ListedObject, ObjectHead, ObjectStore } from '../objectStore.ts';
import { assertByteRange, assertKeyPrefix, assertObjectKey } from '../objectStore.ts';
import { unavailable } from '../objectStoreError.ts';
import { assertBucket } from './assertBucket.ts';
import { getContent } from './getContent.ts';
import { abortUpload, putParts } from './putParts.ts';
import { createS3Connection, type S3Connection, type S3Options } from './s3Connection.ts';
import { toStoreError } from './toStoreError.ts';

/** A bucket of a store that speaks S3. Throws where it does not exist, refuses us, or keeps versions. */
export async function openS3Store({ log, ...options }: S3Options & { log: Logger }): Promise<ObjectStore> {
  const connection = createS3Connection(options);
  try {
    await assertBucket(connection, log);
  } catch (error) {
    connection.close();
    throw error;
  }
  return {
    async put(key, source, putOptions) {
      assertObjectKey(key);
      return putParts({ connection, log }, key, source, putOptions);
    },
    async get(key, range) {
      assertObjectKey(key);
      if (range) assertByteRange(range);
      return getContent(connection, key, range);
    },
    async head(key) {
      assertObjectKey(key);
      return readHead(connection, key);
    },
    async delete(key) {
      assertObjectKey(key);
      await deleteObject(connection, key);
    },
    list(prefix) {
      assertKeyPrefix(prefix);
      return listObjects(connection, prefix);
    },
    async removeUnfinished(prefix, startedBefore) {
      assertKeyPrefix(prefix);
      return abortUploads(connection, prefix, startedBefore);
    },
    close: async () => connection.close(),
  };
}

async function readHead(connection: S3Connection, key: string): Promise<ObjectHead | undefined> {
  const request = { Bucket: connection.bucket, Key: key };
  try {
    const head = await connection.send(new HeadObjectCommand(request));
    const { ContentLength: bytes, ContentType: contentType, ETag: etag } = head;
    if (bytes === undefined || contentType === undefined || etag === undefined) throw unavailable('broken_off');
    return { bytes, contentType, etag };
  } catch (error) {
    const storeError = toStoreError(error);
    if (storeError.kind === 'missing') return undefined;
    throw storeError;
  }
}

async function deleteObject(connection: S3Connection, key: string): Promise<void> {
  const request = { Bucket: connection.bucket, Key: key };
  try {
    await connection.send(new DeleteObjectCommand(request));
  } catch (error) {
    const storeError = toStoreError(error);
    if (storeError.kind !== 'missing') throw storeError;
  }
}

async function* listObjects(connection: S3Connection, prefix: string): AsyncGenerator<ListedObject, void> {
  let token: string | undefined;
  do {
    const request = { Bucket: connection.bucket, Prefix: prefix, ContinuationToken: token };
    const page = await connection.send(new ListObjectsV2Command(request)).catch(throwStoreError);
    for (const { Key: key, Size: bytes, LastModified: modifiedAt } of page.Contents ?? []) {
      if (key === undefined || bytes === undefined || modifiedAt === undefined) throw unavailable('broken_off');
      yield { key, bytes, modifiedAt };
    }
    token = page.NextContinuationToken;
    if (page.IsTruncated && token === undefined) throw unavailable('broken_off');
  } while (token !== undefined);
}

async function abortUploads(connection: S3Connection, prefix: string, startedBefore: Date): Promise<number> {
  let aborted = 0;
  let after: { KeyMarker: string | undefined; UploadIdMarker: string | undefined } | undefined;
  do {
    const request = { Bucket: connection.bucket, Prefix: prefix, ...after };
    const page = await connection.send(new ListMultipartUploadsCommand(request)).catch(throwStoreError);
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      if (!Key?.startsWith(prefix) || !UploadId || !Initiated || Initiated >= startedBefore) continue;
      await abortUpload(connection, { Bucket: connection.bucket, Key, UploadId });
      aborted += 1;
    }
    after = page.IsTruncated ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : undefined;
  } while (after);
  return aborted;
}

function throwStoreError(error: unknown): never {
  throw toStoreError(error);
}
