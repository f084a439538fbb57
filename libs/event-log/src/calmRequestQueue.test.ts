import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { until } from '@turnpike/test-support/until';
import { calmRequestQueue } from './calmRequestQueue.ts';

const RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js');
const log = createLogger({ service: 'event-log-test', level: 'silent' });

/** A connection's queue, whose requests are sent to nobody and answered when a test says. */
function aQueue() {
  const queue = new RequestQueue({
    maxInFlightRequests: null,
    requestTimeout: 10_000,
    enforceRequestTimeout: false,
    clientId: 'test',
    broker: 'nobody',
    logger: log,
  });
  const sent: number[] = [];
  const push = (correlationId: number): void =>
    queue.push({
      entry: { correlationId, apiKey: 1, apiVersion: 1, apiName: 'Fetch', resolve() {}, reject() {} },
      expectResponse: true,
      requestTimeout: null,
      sendRequest: () => void sent.push(correlationId),
    });
  return { queue, sent, push };
}

it('looks at a connection only where a request waits for it, and sends that when the broker lets it', async () => {
  calmRequestQueue();
  const { queue, sent, push } = aQueue();
  push(1);
  queue.fulfillRequest({ correlationId: 1, payload: null, size: 0 });
  expect(queue.throttleCheckTimeoutId).toBeNull();

  queue.maybeThrottle(300);
  push(2);
  await delay(20);
  expect(sent).toEqual([1]);
  expect(queue.throttleCheckTimeoutId).not.toBeNull();
  await until('the request that waited to be sent', () => sent.length === 2);
  expect(queue.throttleCheckTimeoutId).toBeNull();
  queue.destroy();
});
