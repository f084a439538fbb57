import { expect, it, jest } from '@jest/globals';
import { forEachOf } from '@turnpike/config/services';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { serveHttp } from '@turnpike/test-support/serveHttp';
import { createApp } from './app.ts';
import { createFloodThrottle } from './flood/createFloodThrottle.ts';
import { UPSTREAM_NAMES } from './paths/upstream.ts';

it('answers what nobody foresaw with a 500 that shows nothing of it, and tells the operator', async () => {
  const log = aSilentLogger();
  const logged = jest.spyOn(log, 'error');
  const failing = {
    forward: () => {
      throw new Error('secret inside');
    },
    close: () => {},
  };
  const app = createApp({
    log,
    telemetry: noTelemetry,
    proxies: forEachOf(UPSTREAM_NAMES, () => failing),
    signingKey: aFleet().keyOf('edge'),
    trustedHops: 0,
    floodThrottle: createFloodThrottle({ requestsPerMinute: 6_000, burst: 1_000 }),
    serviceSegment: 'svc',
  });
  const { url, close } = await serveHttp(app);
  const response = await fetch(`${url}/v1/models`);
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain('secret');
  expect(logged).toHaveBeenCalledWith(
    expect.objectContaining({ requestId: response.headers.get('x-request-id'), route: 'GET /v1/models' }),
    'request failed',
  );
  await close();
});
