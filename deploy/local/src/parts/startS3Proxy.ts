import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Part, Parts } from '../process/startParts.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { JAVA_FLAGS, writeProperties } from './javaServer.ts';

const ASK_TIMEOUT_MS = 5_000;
const LOG_SETTINGS = join(repositoryRoot, 'deploy/local/s3proxy/logback.xml');
export interface S3ProxyOptions {
  parts: Parts;
  /** Folder of the server's jars. */
  jarDir: string;
  dataDir: string;
  port: number;
  /** The one bucket, made where it is missing. */
  bucket: string;
  /** Requests have to be signed with it. */
  accessKeyId: string;
  secretAccessKey: string;
}

/** Starts a real S3 server, S3Proxy, on loopback; its objects are kept in `dataDir`. Resolves when it serves. */
export async function startS3Proxy(options: S3ProxyOptions): Promise<Part> {
  const { parts, jarDir, dataDir, port, bucket } = options;
  // To this server a folder is a bucket.
  await mkdir(join(dataDir, 'buckets', bucket), { recursive: true });
  const propertiesFile = join(dataDir, 's3proxy.properties');
  await writeProperties(propertiesFile, toProperties(options));
  const part = parts.start({
    name: 's3proxy',
    command: 'java',
    args: [
      ...JAVA_FLAGS,
      `-Dlogback.configurationFile=${LOG_SETTINGS}`,
      '-cp',
      join(jarDir, '*'),
      'org.gaul.s3proxy.Main',
      '--properties',
      propertiesFile,
    ],
  });
  await parts.untilReady(part, () => refusesStrangers(port));
  return part;
}

/** Returns whether the server answers, and refuses requests without a signature. */
async function refusesStrangers(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(ASK_TIMEOUT_MS) });
  await answer.body?.cancel();
  return answer.status === 403;
}

function toProperties({ dataDir, port, accessKeyId, secretAccessKey }: S3ProxyOptions): Record<string, string> {
  return {
    's3proxy.endpoint': `http://127.0.0.1:${port}`,
    's3proxy.authorization': 'aws-v4',
    's3proxy.identity': accessKeyId,
    's3proxy.credential': secretAccessKey,
    'jclouds.provider': 'filesystem-nio2',
    'jclouds.filesystem.basedir': join(dataDir, 'buckets'),
    // Required settings without a use for a folder.
    'jclouds.identity': 'local',
    'jclouds.credential': 'local',
  };
}
