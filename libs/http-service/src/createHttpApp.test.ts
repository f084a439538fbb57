import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { createLogger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import { flat } from '@turnpike/public-api/wireError';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { createHttpApp, type Route } from './createHttpApp.ts';
import { drain } from './drain.ts';
import { createInternalGuard, type Guard, openGuard } from './guard.ts';
import { listen } from './listen.ts';

const fleet = aFleet();
const log = createLogger({ service: 'test', level: 'silent' });
let stop: (() => Promise<void>) | undefined;
afterEach(async () => {
  await stop?.();
  stop = undefined;
});

const anApp = (routes: Route[]) =>
  createHttpApp({
    log,
    telemetry: noTelemetry,
    routes,
    toWireError(error) {
      if (error instanceof ApiError && error.fault.kind === 'unsayable') throw error;
      return error instanceof ApiError ? flat(418, error.fault.kind, { message: 'No.' }) : undefined;
    },
  });
const ok: Route['handler'] = (_req, res) => void res.json({ ok: true });
const thing: Route = { method: 'get', path: '/thing/:id', guard: openGuard, handler: ok };

async function serve(...routes: Route[]): Promise<string> {
  const server = await listen(anApp(routes), { host: '127.0.0.1', port: 0 });
  stop = () => drain([server], { settleMs: 0 });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('does not start with a route that names no guard, or that stands twice', () => {
  const unguarded = { method: 'get', path: '/open', handler: ok } as unknown as Route;
  expect(() => anApp([unguarded])).toThrow('route GET /open names no guard');
  expect(() => anApp([{ ...thing, guard: { kind: 'anyone' } as unknown as Guard }])).toThrow('names no guard');
  expect(() => anApp([thing, thing])).toThrow('route GET /thing/:id stands twice');
});

it.each([
  ['another method', 'POST', '/thing/1', 405],
  ['another path', 'GET', '/things', 404],
  ['another case', 'GET', '/THING/1', 404],
  ['a slash behind', 'GET', '/thing/1/', 404],
  ['a path that is not well encoded', 'GET', '/thing/%zz', 404],
])('serves exactly its routes: %s', async (_case, method, path, status) => {
  const response = await fetch((await serve(thing)) + path, { method });
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toContain('application/json');
  expect(response.headers.get('allow')).toBe(status === 405 ? 'GET' : null);
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  expect(response.headers.get('x-powered-by')).toBeNull();
});

it.each([
  ['its path', 'GET', '/thing', 200],
  ['its path with a query', 'GET', '/thing?a=/b', 200],
  ['its headers alone', 'HEAD', '/thing', 200],
  ['another method', 'POST', '/thing', 405],
  ['a path below', 'GET', '/thing/1', 404],
  ['another case', 'GET', '/THING', 404],
  ['a slash behind', 'GET', '/thing/', 404],
])('serves a path without parameters, and nothing else: %s', async (_case, method, path, status) => {
  const response = await fetch((await serve({ ...thing, path: '/thing' })) + path, { method });
  expect(response.status).toBe(status);
  expect(response.headers.get('allow')).toBe(status === 405 ? 'GET' : null);
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
});

it('words a fault by its family, and says nothing of what nobody foresaw', async () => {
  const throwing = (path: string, error: unknown): Route => ({ ...thing, path, handler: () => Promise.reject(error) });
  const url = await serve(
    throwing('/fault', new ApiError({ kind: 'teapot' })),
    throwing('/bug', new Error('password of db.internal:5432 is hunter2')),
    throwing('/unsayable', new ApiError({ kind: 'unsayable' })),
  );
  expect(await (await fetch(`${url}/fault`)).json()).toEqual({ error: 'teapot', message: 'No.' });
  for (const path of ['/bug', '/unsayable']) {
    const bug = await fetch(url + path);
    expect(bug.status).toBe(500);
    expect(bug.headers.get('content-type')).toContain('application/json');
    expect(await bug.text()).not.toMatch(/hunter2|db\.internal|unsayable|at |\.ts/);
  }
});

it('lets only this stack’s services into an internal route, each with a token for this service and route', async () => {
  const guard = createInternalGuard({ audience: 'us/auth', keys: fleet.publicKeys });
  const url = await serve({ ...thing, guard });
  const statusWith = async (headers: Record<string, string>) => (await fetch(`${url}/thing/1`, { headers })).status;
  const issue = createTokenIssuer({ key: fleet.keyOf('edge') });
  expect(await statusWith(await issue('auth', 'GET /thing/:id'))).toBe(200);
  expect(await statusWith({})).toBe(401);
  expect(await statusWith(await issue('catalog', 'GET /thing/:id'))).toBe(401);
  expect(await statusWith(await issue('auth', 'GET /thing/1'))).toBe(401);
  const ofStranger = createTokenIssuer({ key: aFleet().keyOf('edge') });
  expect(await statusWith(await ofStranger('auth', 'GET /thing/:id'))).toBe(401);
});
