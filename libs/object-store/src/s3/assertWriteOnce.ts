import { randomUUID } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { S3Connection } from './s3Connection.ts';
import { toStoreError } from './toStoreError.ts';

/**
 * Throws if the store overwrites an existing object although the request has `If-None-Match`. A store that does not
 * know this header ignores it, for whole objects or for uploads in parts. Leaves no object behind.
 */
export async function assertWriteOnce(connection: S3Connection): Promise<void> {
  const place = { Bucket: connection.bucket, Key: `checks/${randomUUID()}/once.bin` };
  const onlyNew = { IfNoneMatch: '*' };
  const putAgain = (): Promise<unknown> => connection.send(new PutObjectCommand({ ...place, ...onlyNew, Body: '1' }));
  await putAgain();
  try {
    if (!(await isRefused(putAgain()))) throw new OverwritingStoreError('objects');
    const { UploadId } = await connection.send(new CreateMultipartUploadCommand(place));
    const upload = { ...place, UploadId };
    try {
      const { ETag } = await connection.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body: '1' }));
      const whole = { ...upload, ...onlyNew, MultipartUpload: { Parts: [{ ETag, PartNumber: 1 }] } };
      const completed = connection.send(new CompleteMultipartUploadCommand(whole));
      if (!(await isRefused(completed))) throw new OverwritingStoreError('objects by uploads in parts');
    } finally {
      await connection.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
    }
  } finally {
    await connection.send(new DeleteObjectCommand(place));
  }
}

async function isRefused(written: Promise<unknown>): Promise<boolean> {
  try {
    await written;
    return false;
  } catch (error) {
    if (toStoreError(error).kind === 'exists') return true;
    throw error;
  }
}

export class OverwritingStoreError extends Error {
  override name = 'OverwritingStoreError';
  constructor(what: string) {
    super(`the object store overwrites ${what} although it is asked not to (If-None-Match): another store is needed`);
  }
}
