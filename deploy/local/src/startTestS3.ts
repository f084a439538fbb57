import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePorts } from './findFreePorts.ts';
import { startS3Proxy } from './parts/startS3Proxy.ts';
import { startParts, toPartEndText } from './process/startParts.ts';
import { ensureJars } from './tools/ensureJars.ts';
import { toPartEnvironment } from './toPartEnvironment.ts';

export interface TestS3 {
  port: number;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/** Starts one real S3 server for tests, on a free port and in a temporary folder. Throws a `StackError` where none can be had. */
export async function startTestS3(say: (line: string) => void): Promise<TestS3> {
  const jarDir = await ensureJars('s3proxy', say);
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-s3-'));
  const parts = startParts({
    logDir: folder,
    env: toPartEnvironment(),
    onUnexpectedEnd: (end) => say(toPartEndText(end)),
  });
  const stop = async () => {
    await parts.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [port = 0] = await findFreePorts(1);
    const [accessKeyId, secretAccessKey] = [randomBytes(10).toString('hex'), randomBytes(20).toString('hex')];
    const access = { bucket: 'objects', accessKeyId, secretAccessKey };
    await startS3Proxy({ parts, jarDir, dataDir: join(folder, 'data'), port, ...access });
    return { port, region: 'us-east-1', ...access, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
