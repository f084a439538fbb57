import { findFreePorts } from './findFreePorts.ts';
import { startKafka } from './parts/startKafka.ts';
import { type Stoppable, startTestServer } from './startTestServer.ts';
import { ensureJars } from './tools/ensureJars.ts';

export interface TestBroker extends Stoppable {
  /** As `KAFKA_BROKERS` names them. */
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
