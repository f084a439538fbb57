import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import pg from 'pg';
import { makeAccount } from '../../support/makeAccount.ts';
import { startTestStack, type TestStack } from '../../support/startTestStack.ts';
import { createClient } from '../support/http.ts';
import { MODEL, SERVED_MODELS, US_MODEL, stack as us } from '../support/recordedStack.ts';
import { row } from '../support/row.ts';
import { badKey, DOC_URL, withoutCode, wrapped } from '../support/shapes.ts';
import { type RecordingEngine, startRecordingEngine } from '../support/startRecordingEngine.ts';

const EU_CATALOG = join(import.meta.dirname, '../../../deploy/catalog/eu/catalog.yaml');

let engine: RecordingEngine;
let eu: TestStack<'eu'>;
beforeAll(async () => {
  engine = await startRecordingEngine([MODEL]);
  eu = await startTestStack({
    regions: ['eu'],
    kafka: false,
    engines: [engine.url],
    serviceSettings: { catalog: { CATALOG_FILE: EU_CATALOG } },
  });
}, 120_000);
afterAll(async () => {
  await eu?.stop();
  await engine?.stop();
}, 60_000);

const clientOf = ({ baseUrl, apiKey }: Pick<TestStack, 'baseUrl' | 'apiKey'>) => createClient(baseUrl, apiKey);
const aChat = (model = MODEL) => ({ model, messages: [{ role: 'user', content: 'hi' }] });
const LOOK_UP = '/svc/usage/request/01890000-0000-7000-8000-000000000000';

row('regions.wrong-region-key', async () => {
  expect((await clientOf(us).post('/chat/completions', aChat())).status).toBe(200);
  expect((await clientOf(eu).post('/chat/completions', aChat())).status).toBe(200);
  for (const [here, there] of [
    [us, eu],
    [eu, us],
  ] as const) {
    const { status, body } = await createClient(there.baseUrl, here.apiKey).post('/chat/completions', aChat());
    expect({ status, body }).toEqual({ status: 401, body: badKey() });
  }
});

row('regions.wrong-region-key.all', async () => {
  const stranger = createClient(eu.baseUrl, us.apiKey);
  expect(await stranger.get('/models')).toMatchObject({ status: 401, body: withoutCode('auth', DOC_URL) });
  for (const path of ['/svc/key', LOOK_UP]) expect((await stranger.get(path)).status).toBe(401);
});

const listOf = async (stack: Pick<TestStack, 'baseUrl' | 'apiKey'>): Promise<string[]> =>
  ((await clientOf(stack).get('/models')).body as { data: { id: string }[] }).data.map(({ id }) => id);

row('regions.own-list', async () => {
  expect((await listOf(us)).sort()).toEqual(SERVED_MODELS.toSorted());
  expect(await listOf(eu)).toEqual([MODEL]);
});

row('regions.uncleared', async () => {
  expect((await clientOf(us).post('/chat/completions', aChat(US_MODEL))).status).toBe(200);
  const { status, body } = await clientOf(eu).post('/chat/completions', aChat(US_MODEL));
  const meant = { did_you_mean: expect.not.arrayContaining([US_MODEL]) };
  expect({ status, body }).toEqual({ status: 404, body: wrapped(404, 'unknown_model', meant) });
});

row('regions.usage-apart', async () => {
  const account = await makeAccount(us);
  const { headers } = await account.post('/chat/completions', aChat());
  await account.untilUsage(headers);
  const { status } = await clientOf(eu).get(`/svc/usage/request/${headers.get('x-router-call-id')}`);
  expect(status).toBe(404);
});

/** A key of the us stack whose workspace belongs to eu: what should not be, and must not be served. */
async function misplacedKey(): Promise<string> {
  const workspaceId = await us.operator.makeWorkspace({ creditUsd: '1' });
  const apiKey = await us.operator.makeKey(workspaceId);
  const db = new pg.Client({
    connectionString: us.running.stack.regions.us.postgres_url.replace(/\/postgres$/, '/auth'),
  });
  await db.connect();
  try {
    await db.query(`update workspace set region = 'eu' where workspace_id = $1`, [workspaceId]);
  } finally {
    await db.end();
  }
  return apiKey;
}

row('regions.not-served.chat', async () => {
  const { status, body, headers } = await createClient(us.baseUrl, await misplacedKey()).post(
    '/chat/completions',
    aChat(),
  );
  expect({ status, body }).toEqual({ status: 403, body: wrapped(403, 'region_not_served') });
  expect(headers.get('x-should-retry')).toBe('false');
});

row('regions.not-served.models', async () => {
  expect((await createClient(us.baseUrl, await misplacedKey()).get('/models')).status).toBe(403);
});

row('regions.not-served.service', async () => {
  const client = createClient(us.baseUrl, await misplacedKey());
  for (const path of ['/svc/key', LOOK_UP]) expect((await client.get(path)).status).toBe(401);
});

row('regions.api-only', async () => {
  const { status } = await fetch(eu.baseUrl.replace('/v1', '/'), { headers: { accept: 'text/html' } });
  expect(status).toBe(404);
});

row('regions.usd', async () => {
  for (const stack of [us, eu]) {
    const account = await makeAccount(stack);
    const { headers } = await account.post('/chat/completions', aChat());
    const record = await account.untilUsage(headers);
    expect(record.currency).toBe('USD');
    expect((await account.get('/svc/key')).body).toMatchObject({ currency: 'USD' });
  }
});
