import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Part, Parts } from '../process/startParts.ts';
import { JAVA_FLAGS, writeProperties } from './javaServer.ts';

export interface KafkaOptions {
  parts: Parts;
  /** Folder of the broker's jars. */
  jarDir: string;
  dataDir: string;
  port: number;
  controllerPort: number;
  /** Further listeners, each with the port that the broker advertises to its clients. */
  listeners?: { port: number; advertisedPort: number }[];
}

/**
 * Starts a real one-node broker (KRaft) on loopback and resolves when it serves. Topics are not created on first use.
 */
export async function startKafka(options: KafkaOptions): Promise<Part> {
  const { parts, jarDir, dataDir } = options;
  await mkdir(dataDir, { recursive: true });
  const propertiesFile = join(dataDir, 'server.properties');
  await writeProperties(propertiesFile, toProperties(options));
  const classPath = join(jarDir, '*');
  if (!existsSync(join(dataDir, 'log', 'meta.properties'))) {
    const clusterId = randomBytes(16).toString('base64url');
    await parts.run("the creation of Kafka's data directory", {
      command: 'java',
      args: [
        ...JAVA_FLAGS,
        '-cp',
        classPath,
        'kafka.tools.StorageTool',
        'format',
        `--cluster-id=${clusterId}`,
        '-c',
        propertiesFile,
      ],
    });
  }
  const part = parts.start({
    name: 'kafka',
    command: 'java',
    args: [...JAVA_FLAGS, '-cp', classPath, 'kafka.Kafka', propertiesFile],
  });
  const isServing = async ({ logFile }: Part) => (await readFile(logFile, 'utf8')).includes('Kafka Server started');
  await parts.untilReady(part, isServing);
  return part;
}

function toProperties({
  dataDir,
  port,
  controllerPort,
  listeners = [],
}: KafkaOptions): Record<string, string | number | boolean> {
  const clients = [{ name: 'PLAINTEXT', port, advertisedPort: port }].concat(
    listeners.map((listener, index) => ({ name: `CLIENT${index + 1}`, ...listener })),
  );
  const addresses = clients.map((client) => `${client.name}://127.0.0.1:${client.port}`);
  const advertised = clients.map(({ name, advertisedPort }) => `${name}://127.0.0.1:${advertisedPort}`);
  return {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: [...addresses, `CONTROLLER://127.0.0.1:${controllerPort}`].join(),
    'advertised.listeners': advertised.join(),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'listener.security.protocol.map': ['CONTROLLER', ...clients.map(({ name }) => name)]
      .map((name) => `${name}:PLAINTEXT`)
      .join(),
    'log.dirs': join(dataDir, 'log'),
    'auto.create.topics.enable': false,
    // With one node nothing is replicated or waited for.
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    'log.cleaner.dedupe.buffer.size': 2 * 1024 * 1024,
  };
}
