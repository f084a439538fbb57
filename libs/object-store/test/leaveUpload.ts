import { CreateMultipartUploadCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3';
import type { S3Options } from '../src/s3/s3Connection.ts';

/** Leaves an upload with a part in a bucket, as a process does that dies during a put. */
export async function leaveUpload(
  { url, region, bucket, accessKeyId, secretAccessKey }: Omit<S3Options, 'timeoutMs' | 'idleTimeoutMs' | 'connections'>,
  key: string,
): Promise<void> {
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({ endpoint: url, region, credentials, forcePathStyle: true });
  const place = { Bucket: bucket, Key: key };
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(place));
  await client.send(new UploadPartCommand({ ...place, UploadId, PartNumber: 1, Body: 'half of it' }));
  client.destroy();
}
