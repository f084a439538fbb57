import { describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import type { ConsumeOptions, EventLogConsumer, EventLogProducer, RecordBatch } from '../src/eventLog.ts';

/** An event log as the contract tests need it. */
export interface EventLogUnderTest {
  /** A topic nobody has written to. */
  newTopic(): string;
  createProducer(): EventLogProducer;
  consume(options: ConsumeOptions): EventLogConsumer;
}

const KEYS = ['key_a', 'key_b', 'key_c'];

/** A handler with a database of its own: offsets and records change together, as the ledger's do. */
function createReader() {
  const offsets = new Map<number, bigint>();
  const values: string[] = [];
  const faults: string[] = [];
  return {
    values,
    offsets,
    /** Batches that did not hold exactly the records from where the reader stood up to where it stands next. */
    faults,
    nextOffset: async (partition: number): Promise<bigint> => offsets.get(partition) ?? 0n,
    async handle({ partition, fromOffset, records, nextOffset }: RecordBatch): Promise<void> {
      if ((offsets.get(partition) ?? 0n) !== fromOffset) throw new Error('offset moved');
      const isWhole = records.every(({ offset }, index) => offset === fromOffset + BigInt(index));
      if (!isWhole || nextOffset !== fromOffset + BigInt(records.length))
        faults.push(`${partition}: ${records.map(({ offset }) => offset)} from ${fromOffset} to ${nextOffset}`);
      offsets.set(partition, nextOffset);
      values.push(...records.map(({ value }) => value.toString()));
    },
  };
}

const batchOf = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    key: KEYS[(from + index) % KEYS.length] ?? '',
    value: JSON.stringify({ n: from + index, text: 'ä\u0000"' }),
  }));

/** Each value once, where it first came: an append may store a record twice. */
const unique = (values: string[]): string[] => [...new Set(values)];

/** How many records the partitions hold below where a reader stands. */
const positionsOf = ({ offsets }: ReturnType<typeof createReader>): number =>
  [...offsets.values()].reduce((sum, offset) => sum + Number(offset), 0);

const untilRead = ({ values }: ReturnType<typeof createReader>, count: number): Promise<true> =>
  until(`${count} records to be read`, () => unique(values).length === count);

/** Asks until it is answered: a log that is busy, or moves a topic to another broker, may refuse to tell for a moment. */
const lagOf = (consumer: EventLogConsumer): Promise<bigint> =>
  until('the lag to be told', () => consumer.lag().catch(() => undefined));

const untilCaughtUp = (consumer: EventLogConsumer): Promise<true> =>
  until('the reader to have caught up', async () => (await lagOf(consumer)) === 0n);

const sorted = (values: string[]): string[] => unique(values).sort();

/** One set of tests for every implementation: what is appended is handled, at least once, and in the order of its key. */
export function describeEventLog(name: string, log: () => EventLogUnderTest): void {
  describe(`event log contract: ${name}`, () => {
    async function withLog(test: (topic: string, producer: EventLogProducer) => Promise<void>): Promise<void> {
      const producer = log().createProducer();
      await test(log().newTopic(), producer).finally(() => producer.close());
    }

    it('hands over everything appended before and after the reader started, each key in order', () =>
      withLog(async (topic, producer) => {
        await producer.append(topic, batchOf(0, 300));
        const reader = createReader();
        const consumer = log().consume({ topic, ...reader });
        await untilRead(reader, 300);
        await producer.append(topic, batchOf(300, 300));
        await untilRead(reader, 600);
        await untilCaughtUp(consumer);
        await consumer.close();

        expect(reader.faults).toEqual([]);
        // Each offset was handed over once, none was passed over.
        expect(reader.values).toHaveLength(positionsOf(reader));
        expect(sorted(reader.values)).toEqual(sorted(batchOf(0, 600).map(({ value }) => value)));
        for (const remainder of [0, 1, 2]) {
          // A batch that was sent twice comes twice; each record's first coming is in order.
          const numbers = unique(reader.values)
            .map((value) => JSON.parse(value).n as number)
            .filter((n) => n % 3 === remainder);
          expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
        }
      }));

    it('hands over a batch that was appended twice both times, the repeat behind the first', () =>
      withLog(async (topic, producer) => {
        const reader = createReader();
        await producer.append(topic, batchOf(0, 30));
        await producer.append(topic, batchOf(0, 30));
        const consumer = log().consume({ topic, ...reader });
        await until('60 records to be read', () => reader.values.length >= 60);
        await untilCaughtUp(consumer);
        await consumer.close();

        expect(reader.faults).toEqual([]);
        for (const { value } of batchOf(0, 30))
          expect(reader.values.filter((read) => read === value).length).toBeGreaterThanOrEqual(2);
        for (const remainder of [0, 1, 2]) {
          const firsts = unique(reader.values)
            .map((value) => JSON.parse(value).n as number)
            .filter((n) => n % 3 === remainder);
          expect(firsts).toEqual(firsts.toSorted((a, b) => a - b));
        }
      }));

    it('goes on where the handler’s own database says after a restart', () =>
      withLog(async (topic, producer) => {
        const reader = createReader();
        await producer.append(topic, batchOf(0, 50));
        const first = log().consume({ topic, ...reader });
        await untilRead(reader, 50);
        await first.close();
        await producer.append(topic, batchOf(50, 50));
        const second = log().consume({ topic, ...reader });
        await untilRead(reader, 100);
        await second.close();

        expect(reader.faults).toEqual([]);
        // The batch of the first reader did not come again.
        expect(reader.values).toHaveLength(positionsOf(reader));
        expect(sorted(reader.values)).toEqual(sorted(batchOf(0, 100).map(({ value }) => value)));
      }));

    it('reads again from an offset that went back, as it does after a restored backup', () =>
      withLog(async (topic, producer) => {
        const reader = createReader();
        await producer.append(topic, batchOf(0, 50));
        const first = log().consume({ topic, ...reader });
        await untilRead(reader, 50);
        await first.close();
        reader.offsets.clear();
        const readBefore = reader.values.splice(0);
        const second = log().consume({ topic, ...reader });
        await untilRead(reader, 50);
        await second.close();

        expect(sorted(reader.values)).toEqual(sorted(readBefore));
      }));

    it('reads again from an offset that went back under the reader, though nothing new comes', () =>
      withLog(async (topic, producer) => {
        const reader = createReader();
        await producer.append(topic, batchOf(0, 50));
        const consumer = log().consume({ topic, ...reader });
        await untilRead(reader, 50);
        await untilCaughtUp(consumer);
        // A log on the move may refuse to say for a moment.
        expect(await until('the ends to be told', () => consumer.endOffsets().catch(() => undefined))).toEqual(
          reader.offsets,
        );
        reader.offsets.clear();
        const readBefore = reader.values.splice(0);
        await consumer.goBack();
        await untilRead(reader, 50);
        await consumer.close();

        expect(sorted(reader.values)).toEqual(sorted(readBefore));
      }));

    it('holds nothing in a topic that nobody has written to', () =>
      withLog(async (topic) => {
        const consumer = log().consume({ topic, ...createReader() });
        await until('the log to answer', () =>
          consumer.endOffsets().then(
            (ends) => ends.size === 0,
            () => false,
          ),
        );
        await consumer.close();
      }));

    it('hands the same batch over again after a failure and skips nothing', () =>
      withLog(async (topic, producer) => {
        const reader = createReader();
        const failed: bigint[] = [];
        await producer.append(topic, batchOf(0, 30));
        const consumer = log().consume({
          topic,
          nextOffset: reader.nextOffset,
          async handle(batch) {
            if (failed.length < 4) {
              failed.push(batch.fromOffset);
              throw new Error('the database is away');
            }
            await reader.handle(batch);
          },
        });
        await untilRead(reader, 30);
        await consumer.close();

        expect(failed).toHaveLength(4);
        expect(reader.faults).toEqual([]);
        expect(reader.values).toHaveLength(positionsOf(reader));
        expect(sorted(reader.values)).toEqual(sorted(batchOf(0, 30).map(({ value }) => value)));
      }));

    it('leaves a batch to the reader that handled it first', () =>
      withLog(async (topic, producer) => {
        const reader = createReader();
        let lost = 0;
        await producer.append(topic, batchOf(0, 20));
        const consumer = log().consume({
          topic,
          nextOffset: reader.nextOffset,
          async handle(batch) {
            if (lost > 0) return reader.handle(batch);
            lost += 1;
            await reader.handle(batch);
            throw new Error('another reader has it');
          },
        });
        await untilRead(reader, 20);
        await producer.append(topic, batchOf(20, 20));
        await untilRead(reader, 40);
        await consumer.close();

        expect(sorted(reader.values)).toEqual(sorted(batchOf(0, 40).map(({ value }) => value)));
      }));

    it('hands everything to one of two readers, and to the other alone once the first has gone', () =>
      withLog(async (topic, producer) => {
        // One database: whoever comes second finds that the offset has moved.
        const database = createReader();
        const [first, second] = [log().consume({ topic, ...database }), log().consume({ topic, ...database })];
        for (let from = 0; from < 100; from += 10) await producer.append(topic, batchOf(from, 10));
        await untilRead(database, 100);
        await first.close();
        await producer.append(topic, batchOf(100, 50));
        await untilRead(database, 150);
        await second.close();

        expect(database.faults).toEqual([]);
        expect(database.values).toHaveLength(positionsOf(database));
        expect(sorted(database.values)).toEqual(sorted(batchOf(0, 150).map(({ value }) => value)));
      }));

    it('says how many records are still to be handled', () =>
      withLog(async (topic, producer) => {
        const reader = createReader();
        const { promise: opened, resolve: open } = Promise.withResolvers<void>();
        await producer.append(topic, batchOf(0, 10));
        const consumer = log().consume({
          topic,
          nextOffset: reader.nextOffset,
          handle: async (batch) => {
            await opened;
            await reader.handle(batch);
          },
        });
        expect(await lagOf(consumer)).toBeGreaterThanOrEqual(10n);
        open();
        await untilCaughtUp(consumer);
        expect(unique(reader.values)).toHaveLength(10);
        await consumer.close();
      }));

    it('keeps every record of many concurrent appends', () =>
      withLog(async (topic, producer) => {
        const reader = createReader();
        const consumer = log().consume({ topic, ...reader });
        await Promise.all(Array.from({ length: 40 }, (_, n) => producer.append(topic, batchOf(n * 25, 25))));
        await untilRead(reader, 1_000);
        await untilCaughtUp(consumer);
        await consumer.close();

        expect(reader.faults).toEqual([]);
        expect(reader.values).toHaveLength(positionsOf(reader));
        expect(sorted(reader.values)).toEqual(sorted(batchOf(0, 1_000).map(({ value }) => value)));
      }));
  });
}
