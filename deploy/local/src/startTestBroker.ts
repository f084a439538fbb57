import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePorts } from './findFreePorts.ts';
import { startKafka } from './parts/startKafka.ts';
import { startParts, toPartEndText } from './process/startParts.ts';
import { ensureJars } from './tools/ensureJars.ts';
import { toPartEnvironment } from './toPartEnvironment.ts';

export interface TestBroker {
  /** As `KAFKA_BROKERS` names them. */
  brokers: string;
  /** Stops the broker and removes its data. */
  stop(): Promise<void>;
}

/** Starts one real Kafka broker for a test run, on free ports and in a temporary folder. Throws a `StackError` where none can be had. */
export async function startTestBroker(say: (line: string) => void): Promise<TestBroker> {
  const jarDir = await ensureJars('kafka', say);
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-kafka-'));
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
    const [port = 0, controllerPort = 0] = await findFreePorts(2);
    await startKafka({ parts, jarDir, dataDir: join(folder, 'data'), port, controllerPort });
    return { brokers: `127.0.0.1:${port}`, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
