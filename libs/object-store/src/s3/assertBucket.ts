import { GetBucketVersioningCommand, HeadBucketCommand, S3ServiceException } from '@aws-sdk/client-s3';
import type { Logger } from '@turnpike/logging/createLogger';
import { assertWriteOnce, OverwritingStoreError } from './assertWriteOnce.ts';
import type { S3Connection } from './s3Connection.ts';
import { toStoreError } from './toStoreError.ts';

/**
 * Throws unless the bucket exists, lets us in, keeps no versions (in one that does, what is deleted stays) and lets nothing be
 * overwritten. Where the store does not answer nobody is kept from starting: jobs wait for it.
 */
export async function assertBucket(connection: S3Connection, log: Logger): Promise<void> {
  const { bucket } = connection;
  try {
    await connection.send(new HeadBucketCommand({ Bucket: bucket }));
    await assertUnversioned(connection);
    await assertWriteOnce(connection);
  } catch (error) {
    if (error instanceof VersionedBucketError || error instanceof OverwritingStoreError) throw error;
    const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
    if (status === 404) throw new Error(`the object store has no bucket ${bucket}: it has to be made first`);
    if (status === 401 || status === 403)
      throw new Error(
        `the object store refuses access to the bucket ${bucket}: check the access key, and whether it may list, read, write and delete there and read the bucket's versioning`,
      );
    log.warn({ err: toStoreError(error), bucket }, 'the object store does not answer: its bucket is not checked');
  }
}

async function assertUnversioned(connection: S3Connection): Promise<void> {
  const { bucket } = connection;
  const { Status: status } = await connection.send(new GetBucketVersioningCommand({ Bucket: bucket }));
  if (status !== undefined) throw new VersionedBucketError(bucket, status);
}

class VersionedBucketError extends Error {
  override name = 'VersionedBucketError';
  constructor(bucket: string, status: string) {
    super(
      `the bucket ${bucket} keeps versions (${status}), so what is deleted from it stays: it has to be one whose versioning was never on`,
    );
  }
}
