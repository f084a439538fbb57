import type { Logger } from '@turnpike/logging/createLogger';
import kafkajs, { type LogEntry } from 'kafkajs';
import { calmRequestQueue } from './calmRequestQueue.ts';
import type { Copies } from './ensureTopic.ts';

export interface KafkaClientOptions {
  brokers: string[];
  /** In how many places a topic has what it acknowledges. */
  copies: Copies;
  log: Logger;
}

/**
 * Returns a kafkajs client, not yet connected. Each request has a deadline, and the client's own retries end after some
 * seconds, so that callers learn of an outage and decide.
 */
export function createKafkaClient({ brokers, log }: Pick<KafkaClientOptions, 'brokers' | 'log'>): kafkajs.Kafka {
  calmRequestQueue();
  return new kafkajs.Kafka({
    clientId: 'turnpike',
    brokers,
    connectionTimeout: 3_000,
    requestTimeout: 10_000,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 3 },
    logLevel: kafkajs.logLevel.INFO,
    logCreator: () => (entry) => logEntry(log, entry),
  });
}

/** The loggers of kafkajs that report on single connections: many lines a second while a broker is away. */
const CHATTY = new Set(['Connection', 'BrokerPool', 'RequestQueue']);

/**
 * Logs at a lower level than kafkajs, which logs every failed attempt as an error although it or the caller retries. A
 * lasting failure reaches the caller as a rejection. Stacks are left out.
 */
function logEntry(log: Logger, { namespace, level, log: { message, groupId, topic, partition } }: LogEntry): void {
  const isNotable = level === kafkajs.logLevel.ERROR && !CHATTY.has(namespace);
  const write = isNotable ? log.info : log.debug;
  write.call(log, { part: `kafkajs ${namespace}`, groupId, topic, partition }, message);
}
