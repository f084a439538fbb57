import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePorts } from './findFreePorts.ts';
import { startKafka } from './parts/startKafka.ts';
import { startS3Proxy } from './parts/startS3Proxy.ts';
import { type Parts, startParts, toPartEndText } from './process/startParts.ts';
import { ensureJars } from './tools/ensureJars.ts';
import { toPartEnvironment } from './toPartEnvironment.ts';

/** A server that a test run started. */
interface Stoppable {
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

export interface TestBroker extends Stoppable {
  /** The value of `KAFKA_BROKERS`. */
  brokers: string;
}

/** Starts one real Kafka broker for a test run, on free ports. Throws a `StackError` where none can be had. */
export async function startTestBroker(say: (line: string) => void): Promise<TestBroker> {
  const jarDir = await ensureJars('kafka', say);
  return startTestServer('kafka', say, async (parts, dataDir) => {
    const [port = 0, controllerPort = 0] = await findFreePorts(2);
    await startKafka({ parts, jarDir, dataDir, port, controllerPort });
    return { brokers: `127.0.0.1:${port}` };
  });
}

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

/** Starts one real server for tests, with its data in a temporary folder. Nothing is left where that fails. */
async function startTestServer<Server>(
  name: string,
  say: (line: string) => void,
  start: (parts: Parts, dataDir: string) => Promise<Server>,
): Promise<Server & Stoppable> {
  const folder = await mkdtemp(join(tmpdir(), `turnpike-${name}-`));
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
    return { ...(await start(parts, join(folder, 'data'))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
