import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { drain } from '@turnpike/http-service/drain';
import { listen } from '@turnpike/http-service/listen';
import { aSilentLogger } from '@turnpike/logging/aSilentLogger';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { createApp } from './app.ts';

let url: string;
let stop: () => Promise<void>;
beforeEach(async () => {
  const app = createApp({ log: aSilentLogger(), telemetry: noTelemetry });
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  stop = () => drain([server], { settleMs: 0 });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => stop());

it('answers its health to everybody', async () => {
  const response = await fetch(`${url}/account/health`);
  expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  expect(response.headers.get('x-powered-by')).toBeNull();
});

it.each(['/', '/health', '/internal/workspaces', '/account', '/v1/models'])('serves nothing at %s', async (path) => {
  const response = await fetch(url + path);
  expect(response.status).toBe(404);
  expect(response.headers.get('content-type')).toContain('application/json');
});
