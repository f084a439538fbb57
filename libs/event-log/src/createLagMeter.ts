import type { Admin, Kafka } from 'kafkajs';
import type { ConsumeOptions } from './eventLog.ts';

export interface LagMeter {
  /** How many records the topic holds that have not been handled. Rejects when Kafka does not answer in time. */
  measure(): Promise<bigint>;
  /** The offset that the next record will get, of each partition that holds any. Rejects when Kafka does not answer in time. */
  endOffsets(): Promise<Map<number, bigint>>;
  close(): Promise<void>;
}

/**
 * Measures how far a topic is read. Its connection is made at once and kept: to make one takes longer than who asks can
 * wait. One that failed is replaced at the next question.
 */
export function createLagMeter(
  kafka: Kafka,
  { topic, nextOffset }: Pick<ConsumeOptions, 'topic' | 'nextOffset'>,
): LagMeter {
  let connection: Promise<Admin> | undefined;

  function connect(): Promise<Admin> {
    if (connection) return connection;
    const admin = kafka.admin({ retry: { retries: 0 } });
    const connecting = admin.connect().then(() => admin);
    connection = connecting;
    connecting.catch(() => drop(connecting));
    return connecting;
  }

  async function drop(used: Promise<Admin>): Promise<void> {
    if (connection === used) connection = undefined;
    await used.then((admin) => admin.disconnect()).catch(() => {});
  }

  async function fetchOffsets() {
    const used = connect();
    try {
      return await (await used).fetchTopicOffsets(topic);
    } catch (error) {
      void drop(used);
      throw error;
    }
  }

  void connect().catch(() => {});
  return {
    async measure() {
      const partitions = await fetchOffsets();
      const lags = await Promise.all(
        partitions.map(async ({ partition, low, high }) => {
          const position = await nextOffset(partition);
          const start = position > BigInt(low) ? position : BigInt(low);
          return BigInt(high) > start ? BigInt(high) - start : 0n;
        }),
      );
      return lags.reduce((sum, lag) => sum + lag, 0n);
    },
    async endOffsets() {
      const partitions = await fetchOffsets();
      const filled = partitions.filter(({ low, high }) => BigInt(high) > BigInt(low));
      return new Map(filled.map(({ partition, high }) => [partition, BigInt(high)]));
    },
    async close() {
      if (connection) await drop(connection);
    },
  };
}
