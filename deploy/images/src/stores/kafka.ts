import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { becomeServer, readVariable } from './becomeServer.ts';

// Start script of the Kafka image of `local`: one node. A variable gives the name by which clients reach it.

const JAVA = '/opt/java/bin/java';
const PROPERTIES_FILE = '/data/server.properties';
const LOG_DIR = '/data/log';
const FLAGS = [
  ...['-Xms64m', '-Xmx256m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-XX:-UsePerfData'],
  ...['-cp', '/opt/kafka/jars/*'],
];
const properties = {
  'process.roles': 'broker,controller',
  'node.id': 1,
  'controller.quorum.voters': '1@127.0.0.1:9093',
  listeners: 'PLAINTEXT://0.0.0.0:9092,CONTROLLER://127.0.0.1:9093',
  'advertised.listeners': `PLAINTEXT://${readVariable('ADVERTISED_ADDRESS')}`,
  'controller.listener.names': 'CONTROLLER',
  'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
  'log.dirs': LOG_DIR,
  'auto.create.topics.enable': false,
  // One node: nothing can be replicated, and nobody else is waited for.
  'offsets.topic.replication.factor': 1,
  'offsets.topic.num.partitions': 4,
  'transaction.state.log.replication.factor': 1,
  'transaction.state.log.min.isr': 1,
  'group.initial.rebalance.delay.ms': 0,
  'log.cleaner.dedupe.buffer.size': 2 * 1024 * 1024,
};
const lines = Object.entries(properties).map(([name, value]) => `${name}=${value}`);
writeFileSync(PROPERTIES_FILE, `${lines.join('\n')}\n`);
if (!existsSync(`${LOG_DIR}/meta.properties`)) {
  const id = randomBytes(16).toString('base64url');
  const format = ['kafka.tools.StorageTool', 'format', `--cluster-id=${id}`, '-c', PROPERTIES_FILE];
  const { status, error } = spawnSync(JAVA, [...FLAGS, ...format], { stdio: 'inherit' });
  if (status !== 0) {
    process.stderr.write(`The log cannot be made: ${error?.message ?? `it ended with ${status}`}\n`);
    process.exit(1);
  }
}
becomeServer(JAVA, [...FLAGS, 'kafka.Kafka', PROPERTIES_FILE]);
