import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import {
  type $Command,
  S3Client,
  type S3ClientResolvedConfig,
  type ServiceInputTypes,
  type ServiceOutputTypes,
} from '@aws-sdk/client-s3';
import { unavailable } from '../objectStoreError.ts';
import { withinTime } from '../withinTime.ts';

export interface S3Options {
  /** Base address of the store. */
  url: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Longest time for one request with all its attempts; of a get, until its first byte. */
  timeoutMs: number;
  /** Longest silence of a stream while it is waited for: of the store's in a get, of the caller's in a put. */
  idleTimeoutMs: number;
  /** The most connections for contents that are read, and the most for all else. */
  connections: number;
}

/** Sends a request and resolves with its answer. Rejects with the client's own error, or as `unavailable` past the deadline. */
type Send = <Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
  command: $Command<Input, Output, S3ClientResolvedConfig, ServiceInputTypes, ServiceOutputTypes>,
) => Promise<Output>;

export interface S3Connection {
  bucket: string;
  idleTimeoutMs: number;
  /** For what is answered whole. */
  send: Send;
  /** For contents, on connections of their own: slow readers keep nobody else from the store. */
  sendForContent: Send;
  close(): void;
}

/** The first of a request's attempts, and how many follow it. */
const ATTEMPTS = 3;

/** Connections to an S3 store, all kept and bounded in number, time and attempts. Nothing is asked yet. */
export function createS3Connection(options: S3Options): S3Connection {
  const { bucket, timeoutMs, idleTimeoutMs } = options;
  const attemptTimeoutMs = Math.ceil(timeoutMs / ATTEMPTS);
  const client = createClient(options, { attemptTimeoutMs, silenceMs: attemptTimeoutMs });
  // A connection whose reader is slow is silent, too.
  const contentClient = createClient(options, { attemptTimeoutMs, silenceMs: 0 });
  return {
    bucket,
    idleTimeoutMs,
    send: (command) => withinTime(timeoutMs, late, (abortSignal) => client.send(command, { abortSignal })),
    sendForContent: (command) =>
      withinTime(timeoutMs, late, (abortSignal) => contentClient.send(command, { abortSignal })),
    close() {
      client.destroy();
      contentClient.destroy();
    },
  };
}

const late = () => unavailable('deadline');

function createClient(
  { url, region, accessKeyId, secretAccessKey, connections }: S3Options,
  { attemptTimeoutMs, silenceMs }: { attemptTimeoutMs: number; silenceMs: number },
): S3Client {
  const agentOptions = { keepAlive: true, maxSockets: connections };
  return new S3Client({
    endpoint: url,
    region,
    credentials: { accessKeyId, secretAccessKey },
    // Every store serves buckets by path; names below its host are for some alone.
    forcePathStyle: true,
    // Signatures include a hash of the body. Many stores do not know checksums on top of that.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // A request that waits for leave to send its body gets a connection of its own, which nothing bounds.
    expectContinueHeader: false,
    maxAttempts: ATTEMPTS,
    retryMode: 'standard',
    requestHandler: {
      httpAgent: new HttpAgent(agentOptions),
      httpsAgent: new HttpsAgent(agentOptions),
      connectionTimeout: attemptTimeoutMs,
      requestTimeout: attemptTimeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: silenceMs,
      // Requests that wait for a connection are no news: their deadline runs.
      socketAcquisitionWarningTimeout: 2 ** 31 - 1,
    },
  });
}
