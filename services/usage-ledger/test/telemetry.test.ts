import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { createEmbeddedProducer } from '@turnpike/event-log/createEmbeddedProducer';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson, usageRecorded } from '@turnpike/events/usageRecorded';
import { startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { scrapeMetrics } from '@turnpike/test-support/readMetrics';
import { startCollector } from '@turnpike/test-support/startCollector';
import { startPostgres } from '@turnpike/test-support/startPostgres';
import { openTestLedger, silentLog } from './openTestLedger.ts';
import { internalHeaders, startTestService } from './startTestService.ts';

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

it('shows a recorded batch in its metrics, and in the traces of its calls', async () => {
  const collector = await startCollector();
  const telemetry = startTelemetry({
    service: 'usage-ledger',
    scope: 'us',
    otlpEndpoint: collector.url,
    traceSampleRatio: 0,
    log: silentLog,
  });
  const postgres = await startPostgres();
  const ledger = await openTestLedger(postgres);
  const service = await startTestService(ledger, {
    authUrl: 'http://127.0.0.1:1',
    usageQueryTimeoutMs: 1_000,
    telemetry,
  });
  try {
    const event = aUsageRecorded({ traceparent });
    const values = [event, event, aUsageRecorded()].map(toUsageRecordedJson);
    const producer = createEmbeddedProducer({ url: service.internalUrl, internalHeaders });
    const records = [...values, 'not an event'].map((value) => ({ key: event.keyId, value }));
    await producer.append(usageRecorded.topic, records);
    await producer.close();
    while ((await service.consumer.lag()) > 0n) await delay(10);

    // The counter rises after the database's answer, so other readers may see the row before.
    const scrape = () => scrapeMetrics(`${service.internalUrl}/metrics`);
    while ((await scrape()).get('turnpike_record_batch_seconds_count') !== 1) await delay(10);
    const samples = await scrape();
    expect(samples.get('turnpike_usage_rows_total')).toBe(2);
    expect(samples.get('turnpike_dead_letters_total')).toBe(1);
    expect(samples.get('turnpike_ledger_dead_letters')).toBe(1);
    expect(samples.get('turnpike_record_batch_seconds_count')).toBe(1);
    expect(samples.get('turnpike_event_lag_records')).toBe(0);
    expect(samples.get('turnpike_event_partitions')).toBe(1);
    const route = 'POST /internal/event-log/:topic';
    expect(samples.get(`turnpike_requests_total{route="${route}",status="200",outcome="whole"}`)).toBe(1);

    await postgres.crash();
    const withoutDatabase = await scrape();
    expect(withoutDatabase.get('turnpike_usage_rows_total')).toBe(2);
    expect(withoutDatabase.get('turnpike_event_lag_records')).toBeNaN();
  } finally {
    await service.close();
    await ledger.close();
    await telemetry.shutdown();
    await collector.close();
  }
  expect(collector.spans).toHaveLength(1);
  const [span] = collector.spans;
  expect(span).toMatchObject({ name: 'record usage', kind: 5 });
  expect(span?.attributes).toMatchObject({ 'turnpike.rows': 2, 'turnpike.dead_letters': 1 });
  expect(span?.links.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`)).toEqual([traceparent]);
});
