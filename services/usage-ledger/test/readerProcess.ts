import { Socket } from 'node:net';
import { type ReaderOptions, startReader } from './startReader.ts';

// A reader that a test can freeze, kill and cut off from Kafka: what it reads is its argument.

const options: ReaderOptions = JSON.parse(process.argv[2] ?? '');
const reader = startReader(options);
process.once('SIGTERM', () => void reader.close());

const isOfKafka = ({ remotePort }: Socket): boolean =>
  options.brokers.some((broker) => broker.endsWith(`:${remotePort}`));

// From then on this process sends nothing to Kafka, without notice, but still reaches Postgres.
process.once('SIGUSR2', () => {
  const write = Socket.prototype.write as (...args: unknown[]) => boolean;
  Socket.prototype.write = function writeUnlessCutOff(this: Socket, ...args: unknown[]): boolean {
    return isOfKafka(this) || write.apply(this, args);
  };
});
