import type { TestS3 } from '@turnpike/local-stack/startTestServers';

/** So long that no busy machine, nor the client's pauses between attempts, which are by chance, come near it. */
export const PATIENT = { timeoutMs: 30_000, idleTimeoutMs: 10_000, connections: 16 };

/** How a store is opened on the server, or on what stands before it at another port. */
export const accessTo = ({ region, bucket, accessKeyId, secretAccessKey }: TestS3, port: number) => ({
  url: `http://127.0.0.1:${port}`,
  ...{ region, bucket, accessKeyId, secretAccessKey },
});

/** The variables by which a service opens a store on the server. */
export const settingsOf = (s3: TestS3): Record<string, string> => ({
  OBJECT_STORE_URL: `http://127.0.0.1:${s3.port}`,
  OBJECT_STORE_REGION: s3.region,
  OBJECT_STORE_BUCKET: s3.bucket,
  OBJECT_STORE_ACCESS_KEY_ID: s3.accessKeyId,
  OBJECT_STORE_SECRET_ACCESS_KEY: s3.secretAccessKey,
});
