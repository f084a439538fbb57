import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createHttpApp } from '@turnpike/http-service/createHttpApp';
import { createInternalGuard } from '@turnpike/http-service/guard';
import { listen } from '@turnpike/http-service/listen';
import { ApiError } from '@turnpike/public-api/apiError';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import type { CatalogFault } from '../src/api/catalogError.ts';
import { listInternalRoutes } from '../src/app.ts';
import type { SwitchModel } from '../src/catalog/switchModel.ts';
import { silentLog } from './openTestCatalog.ts';
import { fleet, internalHeadersFor } from './startNeighbours.ts';

const snapshot = { version: 7, region: 'us' as const, models: [] };
const catalog = {
  current: () => snapshot,
  fault: () => undefined,
  databaseAwaySince: () => undefined,
  refresh: async () => snapshot,
  close: async () => {},
};

let server: Server;
let switched: string[];
let answer: () => ReturnType<SwitchModel>;
beforeEach(async () => {
  switched = [];
  answer = async () => snapshot;
  const switchModel: SwitchModel = (modelId, change) => {
    switched.push(`${change} ${modelId}`);
    return answer();
  };
  const internalGuard = createInternalGuard({ audience: 'us/catalog', keys: fleet.publicKeys });
  const findVersion = async () => snapshot;
  const log = silentLog;
  const routes = listInternalRoutes({
    log,
    internalGuard,
    tokenKeys: fleet.publicKeys,
    catalog,
    live: { current: () => undefined, close: async () => {} },
    findVersion,
    listVersions: async () => ({ versions: [], isLast: true }),
    switchModel,
  });
  const app = createHttpApp({ ...routes, log, telemetry: noTelemetry });
  server = await listen(app, { host: '127.0.0.1', port: 0 });
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function post(path: string, signed?: Record<string, string>) {
  const headers = signed ?? (await internalHeadersFor('catalog', `POST /internal/models/${path}`));
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/internal/models/${path}`, { method: 'POST', headers });
  return { status: response.status, body: await response.json() };
}

it.each(['disable', 'enable'])(
  '%s switches the model that the path names, and answers with the version',
  async (how) => {
    expect(await post(`small-chat/${how}`)).toEqual({ status: 200, body: { model: 'small-chat', version: 7 } });
    expect(switched).toEqual([`${how} small-chat`]);
  },
);

it('switches nothing for whoever has no token for the catalog', async () => {
  expect(await post('small-chat/disable', {})).toMatchObject({ status: 401 });
  expect(
    await post('small-chat/disable', await internalHeadersFor('auth', 'POST /internal/models/small-chat/disable')),
  ).toMatchObject({ status: 401 });
  expect(switched).toEqual([]);
});

it.each<[CatalogFault, number, object]>([
  [{ kind: 'model_not_found' }, 404, { error: 'model_not_found' }],
  [{ kind: 'model_retired' }, 409, { error: 'model_retired' }],
  [{ kind: 'model_disabled_in_file' }, 409, { error: 'model_disabled_in_file' }],
])('words %j as %i', async (fault, status, body) => {
  answer = () => Promise.reject(new ApiError(fault));
  expect(await post('small-chat/enable')).toMatchObject({ status, body });
});
