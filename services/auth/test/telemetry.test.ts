import { expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { startCollector } from '@turnpike/test-support/startCollector';
import { registerAKey } from './builders.ts';
import { startAuth } from './startAuth.ts';

it('follows a look-up from the edge’s span to the router', async () => {
  const collector = await startCollector();
  const telemetry = startTelemetry({
    service: 'auth',
    scope: 'us',
    otlpEndpoint: collector.url,
    traceSampleRatio: 0,
    log: createLogger({ service: 'auth', level: 'silent' }),
  });
  const auth = await startAuth({ telemetry });
  const [traceId, spanId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
  const seenByRouter: unknown[] = [];
  auth.answerSpend((req, res) => {
    seenByRouter.push(req.headers.traceparent);
    res.end(JSON.stringify({ spend_nano_usd: '0', held_nano_usd: '0' }));
  });
  try {
    const { apiKey } = await registerAKey(auth);
    await auth.getPublic('/v1/svc/key', `Bearer ${apiKey}`, { traceparent: `00-${traceId}-${spanId}-01` });
    await auth.getPublic('/v1/svc/key', `Bearer ${apiKey}`);
  } finally {
    await auth.stop();
    await telemetry.shutdown();
    await collector.close();
  }
  expect(collector.spans).toHaveLength(1);
  const [span] = collector.spans;
  expect(span).toMatchObject({ name: 'GET /v1/svc/key', traceId, parentSpanId: spanId });
  expect(seenByRouter).toEqual([`00-${traceId}-${span?.spanId}-01`, undefined]);
});
