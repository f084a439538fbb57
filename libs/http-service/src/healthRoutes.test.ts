import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { createHttpApp } from './createHttpApp.ts';
import { createHealthRoutes, type ReadinessChecks, type Warning } from './healthRoutes.ts';
import { listen } from './listen.ts';
import { observeReadiness } from './serviceApps.ts';

const there = { disk: true, redis: true, postgres: true };
let balances: true | string = true;
/** The answer of Postgres, where it takes its time. */
let postgres: Promise<boolean> | undefined;
let warnings: Warning[] = [];
let server: Server;
beforeAll(async () => {
  const checks: ReadinessChecks = {
    disk: () => there.disk,
    redis: async () => there.redis,
    balances: () => balances,
    postgres() {
      if (postgres) return postgres;
      if (!there.postgres) throw new Error('connect ECONNREFUSED 10.0.0.1:5432');
      return true;
    },
  };
  const routes = createHealthRoutes(checks, () => warnings);
  const log = createLogger({ service: 'test', level: 'silent' });
  server = await listen(createHttpApp({ log, telemetry: noTelemetry, routes, toWireError: () => undefined }), {
    host: '127.0.0.1',
    port: 0,
  });
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const SINCE = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

async function ask(path: string) {
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
  return { status: answer.status, body: await answer.json() };
}

it('is ready while all is there, and else names what is missing and nothing of what an error says; alive it is in any case', async () => {
  expect(await ask('/ready')).toEqual({ status: 200, body: { status: 'ready' } });
  Object.assign(there, { redis: false, postgres: false });
  expect(await ask('/ready')).toEqual({
    status: 503,
    body: { status: 'not ready', missing: ['redis', 'postgres'], since: SINCE },
  });
  expect(await ask('/health')).toEqual({ status: 200, body: { status: 'ok' } });
});

it('says why something is missing where its check has words for that', async () => {
  Object.assign(there, { redis: true, postgres: true });
  balances = 'they are waited for';
  expect(await ask('/ready')).toEqual({
    status: 503,
    body: { status: 'not ready', missing: ['balances: they are waited for'], since: SINCE },
  });
  balances = true;
  expect(await ask('/ready')).toEqual({ status: 200, body: { status: 'ready' } });
});

it('says since when it has not been ready', async () => {
  const sinceOf = async () => ((await ask('/ready')).body as { since?: string }).since;
  there.redis = false;
  const first = await sinceOf();
  expect(first).toEqual(SINCE);
  there.disk = false;
  expect(await sinceOf()).toBe(first);
  Object.assign(there, { redis: true, disk: true });
  expect(await sinceOf()).toBeUndefined();
  await setTimeout(2);
  there.redis = false;
  const again = await sinceOf();
  expect(Date.parse(again ?? '')).toBeGreaterThan(Date.parse(first ?? ''));
  there.redis = true;
});

it('names what gives no answer within 3 s, and waits no longer for it', async () => {
  postgres = Promise.withResolvers<boolean>().promise;
  expect(await ask('/ready')).toEqual({
    status: 503,
    body: { status: 'not ready', missing: ['postgres: no answer within 3 s'], since: SINCE },
  });
  postgres = undefined;
});

it('names what wants a look, ready or not', async () => {
  warnings = [{ kind: 'file_refused', subject: 'NAMES_FILE', text: 'NAMES_FILE names.json is refused' }];
  const named = { warnings: ['NAMES_FILE names.json is refused'] };
  expect(await ask('/ready')).toEqual({ status: 200, body: { status: 'ready', ...named } });
  there.redis = false;
  expect(await ask('/ready')).toEqual({
    status: 503,
    body: { status: 'not ready', missing: ['redis'], since: SINCE, ...named },
  });
  Object.assign(there, { redis: true });
  warnings = [];
});

it('measures each readiness check: 1 where what it asks for is there, 0 where it is not, says why not, or hangs', async () => {
  const log = createLogger({ service: 'test', level: 'silent' });
  const telemetry = startTelemetry({ service: 'test', scope: 'us', otlpEndpoint: undefined, traceSampleRatio: 0, log });
  const checks: ReadinessChecks = {
    disk: () => true,
    balances: () => 'they are waited for',
    redis: () => Promise.reject(new Error('connect ECONNREFUSED')),
    postgres: () => Promise.withResolvers<boolean>().promise,
  };
  observeReadiness(checks, telemetry);
  try {
    const samples = await readMetrics(telemetry);
    expect(Object.keys(checks).map((check) => samples.get(`turnpike_ready{check="${check}"}`))).toEqual([1, 0, 0, 0]);
  } finally {
    await telemetry.shutdown();
  }
});
