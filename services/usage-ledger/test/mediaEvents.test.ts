import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createKafkaProducer } from '@turnpike/event-log/createKafkaProducer';
import { aMediaUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson, usageRecorded } from '@turnpike/events/usageRecorded';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { until } from '@turnpike/test-support/until';
import { consumeUsageRecorded, type UsageConsumerDependencies } from '../src/consumers/usageRecorded.ts';
import { createEventLogStore } from '../src/event-log/createEventLogStore.ts';
import { openTestLedger, silentLog, type TestLedger } from './openTestLedger.ts';

const brokers = process.env.KAFKA_BROKERS?.split(',');

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

type Entry = { key: string; value: string };
type Log = { source: UsageConsumerDependencies['source']; append: (records: Entry[]) => Promise<unknown> };

function openEmbedded(): Log {
  const store = createEventLogStore(ledger.db);
  return { source: { store }, append: (records) => store.append(usageRecorded.topic, records) };
}

function openKafka(addresses: string[]): Log {
  const options = { brokers: addresses, copies: 'one' as const };
  return {
    source: options,
    async append(records) {
      const producer = createKafkaProducer({ ...options, log: silentLog });
      await producer.append(usageRecorded.topic, records);
      await producer.close();
    },
  };
}

const logs: [string, () => Log][] = [
  ['the embedded log', openEmbedded],
  ...(brokers ? [['Kafka', () => openKafka(brokers)] as [string, () => Log]] : []),
];

it.each(logs)('records events of both versions from %s', async (_name, open) => {
  const { source, append } = open();
  const owner = { keyId: `key_${randomUUID()}`, workspaceId: `ws_${randomUUID()}` };
  const events = [aUsageRecorded(owner), aMediaUsageRecorded(owner), aUsageRecorded({ ...owner, version: 2 })];
  await append(events.map((event) => ({ key: event.keyId, value: toUsageRecordedJson(event) })));
  const consumer = await consumeUsageRecorded({
    db: ledger.db,
    leaseDb: ledger.db,
    log: silentLog,
    telemetry: noTelemetry,
    region: 'us',
    source,
  });
  const recorded = () => ledger.db.usageRequest.findMany({ where: owner, orderBy: { callId: 'asc' } });
  await until('all to be recorded', async () => (await recorded()).length === events.length).finally(() =>
    consumer.close(),
  );

  const units = new Map(events.map(({ callId, units: count = null }) => [callId, count]));
  expect(new Map((await recorded()).map((row) => [row.callId, row.units]))).toEqual(units);
  const total = await ledger.db.keyTotal.findUniqueOrThrow({ where: { keyId: owner.keyId } });
  expect(total).toMatchObject({ requests: 3n });
  expect(total.chargeNanoUsd.toFixed()).toBe('375000');
});
