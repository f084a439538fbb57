import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { toMandateText } from '@turnpike/console-api/mandateText';
import { payAt } from '@turnpike/test-support/payAt';
import { until } from '@turnpike/test-support/until';
import pg from 'pg';
import { AccountUser } from '../../support/accountUser.ts';
import { makeAccount } from '../../support/makeAccount.ts';
import { runTurnpike, runTurnpikeHere } from '../../support/runTurnpike.ts';
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
});
afterAll(async () => {
  await eu?.stop();
  await engine?.stop();
});

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

/** The month before this one, whose average is the rate of this month. */
const LAST_MONTH = new Date(new Date().setUTCDate(0)).toISOString().slice(0, 7);
const THIS_MONTH = new Date().toISOString().slice(0, 7);

/** Gives a stack's account layer another average of last month, as its operator does. */
async function importRate({ stackFile, stateDir }: Pick<TestStack, 'stackFile' | 'stateDir'>, rate: string) {
  const file = join(stateDir, `rates-${rate}.csv`);
  await writeFile(file, `KEY,TIME_PERIOD,OBS_VALUE\nEXR.M.USD.EUR.SP00.A,${LAST_MONTH},${rate}\n`);
  return runTurnpike(['rates', 'import', file, '--confirmed'], { stackFile });
}

interface TopUp {
  top_up_id: string;
  workspace_id: string;
  kind: string;
  state: string;
}

/** Pays 25 from a country into a new workspace. Returns the top-up and its invoice. */
async function payIn(stack: TestStack<'us'> | TestStack<'eu'>, region: 'us' | 'eu', country: string) {
  const user = await AccountUser.signIn(stack.running.stack);
  const organization = `/account/organizations/${await user.makeOrganization()}`;
  const ask = async (method: string, path: string, body?: object) =>
    (await user.send(method, organization + path, body)).json() as Promise<Record<string, never>>;
  const { workspace_id: workspaceId } = await ask('POST', '/workspaces', { region, name: 'Tests' });
  const topUps = `/workspaces/${workspaceId}/top-ups`;
  const { checkout_url: page } = await ask('POST', topUps, { net_cents: 2_500 });
  await payAt(page ?? '', { address: { country, postal_code: 'D02', line1: '1 Quay', city: 'Town' } });
  const listTopUps = async () => (await ask('GET', topUps)).top_ups as unknown as TopUp[];
  const listDocuments = async () => (await ask('GET', '/documents')).documents as unknown as object[];
  // The top-up and the copy of its invoice come by jobs of their own.
  return until('the payment and the copy of its invoice', async () => {
    const [topUp] = await listTopUps();
    const [invoice] = await listDocuments();
    return topUp?.state === 'invoiced' && invoice && { topUp, invoice, ask, listTopUps, listDocuments };
  });
}

row('account.top-up-eur', async () => {
  const { topUp, listTopUps } = await payIn(eu, 'eu', 'IE');
  // 25.00 × the rate of the local stack.
  const converted = { currency: 'eur', net_cents: 2_500, usd_per_eur: '1.1000', rate_month: THIS_MONTH };
  expect(topUp).toMatchObject({ ...converted, nano_usd: '27500000000' });
  expect((await importRate(eu, '1.2000')).stdout).toContain('keeps the rate');
  expect(await listTopUps()).toEqual([topUp]);
});

row('account.currency', async () => {
  const inEuros = await payIn(eu, 'eu', 'IE');
  expect(inEuros.invoice).toMatchObject({ kind: 'invoice', currency: 'eur', total_cents: 3_075, tax_cents: 575 });
  const inDollars = await payIn(us, 'us', 'CH');
  expect(inDollars.invoice).toMatchObject({ kind: 'invoice', currency: 'usd', total_cents: 2_500, tax_cents: 0 });
  expect(inDollars.topUp).toMatchObject({ nano_usd: '25000000000', rate_month: null, usd_per_eur: null });
});

row('account.automatic-top-up', async () => {
  const { topUp, ask, listTopUps, listDocuments } = await payIn(us, 'us', 'CH');
  const { cards } = await ask('GET', '/cards');
  const [card] = cards as unknown as { card_id: string; brand: string; last4: string }[];
  if (!card) throw new Error('the payment saved no card');
  // The balance is 35: a first workspace has 10 to begin with.
  const terms = { currency: 'usd', netCents: 1_000, thresholdNanoUsd: 40_000_000_000n } as const;
  const limits = { dayLimitCents: 2_000, monthLimitCents: 2_000 };
  const rule = `/workspaces/${topUp.workspace_id}/automatic-top-up`;
  const body = {
    card_id: card.card_id,
    threshold_nano_usd: String(terms.thresholdNanoUsd),
    net_cents: terms.netCents,
    day_limit_cents: limits.dayLimitCents,
    month_limit_cents: limits.monthLimitCents,
    confirmed_text: toMandateText({ ...terms, ...limits, card }),
  };
  expect(await ask('PUT', rule, { ...body, net_cents: 2_000 })).toMatchObject({ error: 'confirmation_differs' });
  await ask('PUT', rule, body);
  await until('the second invoice and its copy', async () => {
    const isInvoiced = (await listTopUps()).every(({ state }) => state === 'invoiced');
    return isInvoiced && (await listDocuments()).length === 2;
  });
  const charged = { kind: 'automatic', state: 'invoiced', net_cents: 1_000, nano_usd: '10000000000' };
  expect(await listTopUps()).toEqual([expect.objectContaining(charged), topUp]);
  expect(await ask('GET', rule)).toMatchObject({ charged_month_cents: 1_000 });
});

row('account.refund', async () => {
  const { topUp, listDocuments } = await payIn(eu, 'eu', 'IE');
  const refund = ['refunds', 'start', topUp.top_up_id, '--amount', '10', '--yes'];
  expect(await runTurnpikeHere(refund, eu)).toMatchObject({ code: 0, stderr: '' });
  const note = await until('the copy of the credit note', async () => {
    const [newest, ...others] = await listDocuments();
    return others.length === 1 && newest;
  });
  expect(note).toMatchObject({ kind: 'credit_note', currency: 'eur', total_cents: 1_230, tax_cents: 230 });
  const wallet = await runTurnpikeHere(['wallet', 'show', topUp.workspace_id, '--json'], eu);
  // 15.00 are left, at the rate of the payment, and 10 dollars to begin with.
  expect(JSON.parse(wallet.stdout)).toMatchObject({ credited_nano_usd: '26500000000' });
});
