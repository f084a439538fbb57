import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createKafkaProducer } from '@turnpike/event-log/createKafkaProducer';
import type { EventLogConsumer, EventLogProducer } from '@turnpike/event-log/eventLog';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import { until } from '@turnpike/test-support/until';
import { seededRandom } from '../../../bench/seededRandom.ts';
import { createReaderLeases } from '../src/event-log/createReaderLeases.ts';
import { openTestLedger, silentLog, type TestLedger } from './openTestLedger.ts';
import { startReader } from './startReader.ts';

// Ledgers that share the partitions of a topic, over a real Kafka and Postgres.

const PARTITIONS = 12;
/** A lease, and the second until others look. Beyond it, what a busy machine takes. */
const TAKEN_OVER_MS = 4_000;
const BUSY_MS = 30_000;

const brokers = process.env.KAFKA_BROKERS?.split(',') ?? [];

let ledger: TestLedger;
let topic: string;
let producer: EventLogProducer;
let readers: EventLogConsumer[];
let processes: ChildProcess[];

const start = (): EventLogConsumer => {
  const reader = startReader({ databaseUrl: ledger.databaseUrl, brokers, topic });
  readers.push(reader);
  return reader;
};

/** A reader that can be frozen and killed; reads once its lease runs. */
async function startProcess(): Promise<ChildProcess> {
  const file = fileURLToPath(new URL('readerProcess.ts', import.meta.url));
  const others = await countLeases();
  const options = JSON.stringify({ databaseUrl: ledger.databaseUrl, brokers, topic });
  const child = spawn(process.execPath, [file, options], { stdio: 'inherit' });
  processes.push(child);
  await until('the process to read', async () => (await countLeases()) > others);
  return child;
}

async function countLeases(): Promise<number> {
  const [row] = await ledger.db.$queryRaw<{ n: bigint }[]>`
    SELECT count(*) AS n FROM event_reader WHERE topic = ${topic} AND lapses_at > clock_timestamp()`;
  return Number(row?.n);
}

const sharesOf = (some: EventLogConsumer[]): number[] => some.map((reader) => reader.partitions()).sort();

const untilShares = (some: EventLogConsumer[], expected: number[]): Promise<true> =>
  until(`shares of ${expected}`, () => JSON.stringify(sharesOf(some)) === JSON.stringify(expected));

/** Makes some calls, spread over all partitions. */
async function append(count: number): Promise<UsageRecorded[]> {
  const events = Array.from({ length: count }, () => aUsageRecorded());
  await producer.append(
    topic,
    events.map((event) => ({ key: randomUUID(), value: toUsageRecordedJson(event) })),
  );
  return events;
}

const countRecorded = (events: UsageRecorded[]): Promise<number> =>
  ledger.db.usageRequest.count({ where: { callId: { in: events.map(({ callId }) => callId) } } });

const untilRecorded = (events: UsageRecorded[]): Promise<true> =>
  until('all to be recorded', async () => (await countRecorded(events)) === events.length);

/** Asserts that something is done soon after something else has happened. */
async function expectWithin(limitMs: number, work: Promise<unknown>): Promise<void> {
  const sinceMs = performance.now();
  await work;
  expect(performance.now() - sinceMs).toBeLessThan(limitMs);
}

const describeWithKafka = brokers.length > 0 || process.env.REQUIRE_KAFKA === '1' ? describe : describe.skip;

describeWithKafka('ledgers that share a topic of Kafka', () => {
  beforeAll(async () => {
    ledger = await openTestLedger();
  });
  afterAll(() => ledger.close());
  beforeEach(() => {
    topic = `shared.${randomUUID()}`;
    producer = createKafkaProducer({ brokers, copies: 'one', log: silentLog });
    readers = [];
    processes = [];
  });
  afterEach(async () => {
    for (const child of processes) child.kill('SIGKILL');
    await Promise.all([producer.close(), ...readers.map((reader) => reader.close())]);
  });

  it('have fair shares, however many they are, and leave theirs to the others within a second', async () => {
    const [first, second, third, fourth, fifth] = [start(), start(), start(), start(), start()] as const;
    await untilShares(readers, [2, 2, 2, 3, 3]);
    await fifth.close();
    await expectWithin(1_000 + BUSY_MS, untilShares([first, second, third, fourth], [3, 3, 3, 3]));
    await third.close();
    await expectWithin(1_000 + BUSY_MS, untilShares([first, second, fourth], [4, 4, 4]));
    await first.close();
    await expectWithin(1_000 + BUSY_MS, untilShares([second, fourth], [6, 6]));
    await second.close();
    await expectWithin(1_000 + BUSY_MS, untilShares([fourth], [PARTITIONS]));
    await untilRecorded(await append(200));
    await fourth.close();
    expect(await countLeases()).toBe(0);
  });

  it.each([
    ['was killed', 'SIGKILL'],
    ['was frozen', 'SIGSTOP'],
    ['is cut off from Kafka, and reaches Postgres', 'SIGUSR2'],
  ] as const)('take over the share of one that %s', async (_how, signal) => {
    const survivor = start();
    const child = await startProcess();
    await untilShares([survivor], [6]);
    await untilRecorded(await append(100));
    child.kill(signal);
    const events = await append(100);
    await expectWithin(TAKEN_OVER_MS + BUSY_MS, untilRecorded(events));
    await untilShares([survivor], [PARTITIONS]);
    // One that thaws has its share again.
    if (signal !== 'SIGSTOP') return;
    child.kill('SIGCONT');
    await untilShares([survivor], [6]);
    await untilRecorded(await append(100));
    child.kill('SIGTERM');
    await once(child, 'exit');
    await expectWithin(1_000 + BUSY_MS, untilShares([survivor], [PARTITIONS]));
  });

  it('pass over one that renews its lease and does not read', async () => {
    const reader = start();
    const leases = createReaderLeases(ledger.db, topic);
    const [idleId, stop] = [randomUUID(), new AbortController()];
    const renewing = (async () => {
      while (!stop.signal.aborted) {
        await leases.renew(idleId);
        await delay(200);
      }
    })();
    await untilShares([reader], [6]);
    await expectWithin(TAKEN_OVER_MS + BUSY_MS, untilRecorded(await append(100)));
    // The ledger waits for no reader by now.
    await expectWithin(BUSY_MS, untilRecorded(await append(100)));
    expect(reader.partitions()).toBe(6);
    stop.abort();
    await renewing;
  });

  it('record every call once while shares move under load', async () => {
    const share = seededRandom(11);
    const pick = <T>(choices: T[]): T => choices[Math.floor(share() * choices.length)] as T;
    const [keyId, workspaceId] = [`key_${randomUUID()}`, `ws_${randomUUID()}`];
    const events: UsageRecorded[] = [];
    let isOver = false;
    const load = (async () => {
      while (!isOver) {
        const batch = Array.from({ length: 1 + Math.floor(share() * 60) }, () =>
          aUsageRecorded({ keyId, workspaceId }),
        );
        await producer.append(
          topic,
          batch.map((event) => ({ key: randomUUID(), value: toUsageRecordedJson(event) })),
        );
        events.push(...batch);
        await delay(20);
      }
    })();
    start();
    const frozen = await startProcess();
    for (let change = 0; change < 14; change += 1) {
      const live = readers.slice(-3);
      if (live.length < 2 || share() < 0.5) start();
      else await pick(live).close();
      if (change % 5 === 2) frozen.kill('SIGSTOP');
      if (change % 5 === 4) frozen.kill('SIGCONT');
      await delay(300 + share() * 900);
    }
    frozen.kill('SIGKILL');
    const last = start();
    isOver = true;
    await load;
    await untilRecorded(events);
    const total = await ledger.db.keyTotal.findUniqueOrThrow({ where: { keyId } });
    expect(total.requests).toBe(BigInt(events.length));
    expect(BigInt(total.chargeNanoUsd.toFixed())).toBe(events.reduce((sum, event) => sum + event.chargeNanoUsd, 0n));
    await until('nothing to be left', async () => (await last.lag().catch(() => undefined)) === 0n);
    const offsets = await ledger.db.eventOffset.findMany({ where: { topic } });
    expect(new Map(offsets.map(({ partition, nextOffset }) => [partition, nextOffset]))).toEqual(
      await last.endOffsets(),
    );
  });
});
