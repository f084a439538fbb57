import { randomBytes } from 'node:crypto';
import { findFreePorts } from './findFreePorts.ts';
import { startS3Proxy } from './parts/startS3Proxy.ts';
import { type Stoppable, startTestServer } from './startTestServer.ts';
import { ensureJars } from './tools/ensureJars.ts';

export interface TestS3 extends Stoppable {
  port: number;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** Starts one real S3 server for tests, on a free port. Throws a `StackError` where none can be had. */
export async function startTestS3(say: (line: string) => void): Promise<TestS3> {
  const jarDir = await ensureJars('s3proxy', say);
  return startTestServer('s3', say, async (parts, dataDir) => {
    const [port = 0] = await findFreePorts(1);
    const [accessKeyId, secretAccessKey] = [randomBytes(10).toString('hex'), randomBytes(20).toString('hex')];
    const access = { bucket: 'objects', accessKeyId, secretAccessKey };
    await startS3Proxy({ parts, jarDir, dataDir, port, ...access });
    return { port, region: 'us-east-1', ...access };
  });
}
