import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Part, Parts } from '../process/startParts.ts';
import { repositoryRoot } from '../repositoryRoot.ts';

const ASK_TIMEOUT_MS = 5_000;
const LOG_SETTINGS = join(repositoryRoot, 'deploy/local/s3proxy/logback.xml');
/** Flags like Kafka's: the server of a laptop starts in a second or two and moves little. */
const JAVA_FLAGS = ['-Xms64m', '-Xmx256m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

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
  // In a file of the owner alone, as a command line shows to every user of the machine.
  await writeFile(propertiesFile, toProperties(options), { mode: 0o600 });
  const part = parts.start({
    name: 's3proxy',
    layer: 0,
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
    stopSignal: 'SIGTERM',
    hasChannel: false,
  });
  await parts.untilReady(part, () => refusesStrangers(port));
  return part;
}

/** Whether it answers, and lets nobody in without a signature. */
async function refusesStrangers(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(ASK_TIMEOUT_MS) });
  await answer.body?.cancel();
  return answer.status === 403;
}

function toProperties({ dataDir, port, accessKeyId, secretAccessKey }: S3ProxyOptions): string {
  const properties = {
    's3proxy.endpoint': `http://127.0.0.1:${port}`,
    's3proxy.authorization': 'aws-v4',
    's3proxy.identity': accessKeyId,
    's3proxy.credential': secretAccessKey,
    'jclouds.provider': 'filesystem-nio2',
    'jclouds.filesystem.basedir': join(dataDir, 'buckets'),
    // Asked for, and of no use to a folder.
    'jclouds.identity': 'local',
    'jclouds.credential': 'local',
  };
  return `${Object.entries(properties)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`;
}
