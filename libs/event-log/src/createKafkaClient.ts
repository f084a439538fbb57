import { connect, type Socket } from 'node:net';
import type { Logger } from '@turnpike/logging/createLogger';
import kafkajs, { type LogEntry, type RequestTimeoutEvent } from 'kafkajs';
import { calmRequestQueue } from './calmRequestQueue.ts';
import type { Copies } from './ensureTopic.ts';

export interface KafkaClientOptions {
  brokers: string[];
  /** In how many places a topic has what it acknowledges. */
  copies: Copies;
  log: Logger;
}

export interface KafkaClient {
  kafka: kafkajs.Kafka;
  /**
   * Ends the connections to a broker that let a request time out, so that the next try opens another one. Listens to a producer or a
   * consumer. kafkajs would keep the connection. TCP tries a peer that was silent for a minute only once a minute.
   */
  endSilent(event: RequestTimeoutEvent): void;
}

/** The value in kafkajs. */
const KEEP_ALIVE_MS = 60_000;

/**
 * Returns a kafkajs client, not yet connected. Each request has a deadline, and the client's own retries end after some
 * seconds, so that callers learn of an outage and decide.
 */
export function createKafkaClient({ brokers, log }: Pick<KafkaClientOptions, 'brokers' | 'log'>): KafkaClient {
  calmRequestQueue();
  const brokerOf = new Map<Socket, string>();
  const kafka = new kafkajs.Kafka({
    clientId: 'turnpike',
    brokers,
    connectionTimeout: 3_000,
    requestTimeout: 10_000,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 3 },
    socketFactory({ host, port, onConnect }) {
      const socket = connect({ host, port }, onConnect).setKeepAlive(true, KEEP_ALIVE_MS);
      brokerOf.set(socket, `${host}:${port}`);
      return socket.once('close', () => brokerOf.delete(socket));
    },
    logLevel: kafkajs.logLevel.INFO,
    logCreator: () => (entry) => logEntry(log, entry),
  });
  return {
    kafka,
    endSilent({ payload }) {
      for (const [socket, broker] of brokerOf)
        if (broker === payload.broker) socket.destroy(new Error('a request timed out'));
    },
  };
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
