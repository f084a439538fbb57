import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateApiKey } from '@turnpike/api-keys/apiKey';
import { generateSigningKey, publicKeysSchema, signingKeySchema, toPublicKey } from '@turnpike/config/internalKeys';
import { createEmbeddedProducer } from '@turnpike/event-log/createEmbeddedProducer';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson, type UsageRecorded, usageRecorded } from '@turnpike/events/usageRecorded';
import { signPage } from '@turnpike/feed/feedPage';
import { startPostgres, type TestPostgres } from '@turnpike/test-support/startPostgres';
import { until } from '@turnpike/test-support/until';
import { request } from 'undici';
import { v7 as uuidv7 } from 'uuid';
import { openTestLedger, type TestLedger } from '../test/openTestLedger.ts';
import { startTestAuth, type TestAuth } from '../test/startTestAuth.ts';
import { internalHeaders, startTestService, type TestService, urlOf } from '../test/startTestService.ts';
import { getBalances } from './balances/getBalances.ts';
import { addCredit } from './credits/addCredit.ts';

/** For whatever is to succeed. */
const PATIENT_MS = 20_000;
/** The timeout of an impatient client. */
const TIMEOUT_MS = 2_000;
/** Three of a key run at once, so they would take 20 s if the timeout began with the query. */
const LOOK_UPS = 30;

let auth: TestAuth;
let postgres: TestPostgres;
let ledger: TestLedger;
let service: TestService;
/** Stands in for a router; each test says what it answers. */
let router: Server;
let answerOfRouter: (path: string) => Promise<number>;
beforeAll(async () => {
  auth = await startTestAuth();
  postgres = await startPostgres();
  ledger = await openTestLedger(postgres);
  router = createServer(async (req, res) => {
    const status = await answerOfRouter(`${req.method} ${req.url}`);
    if (status === 0) res.destroy();
    else res.writeHead(status).end('{}');
  });
  await new Promise<void>((resolve) => router.listen(0, '127.0.0.1', resolve));
  const routerUrl = urlOf(router);
  service = await startTestService(ledger, {
    authUrl: auth.url,
    usageQueryTimeoutMs: PATIENT_MS,
    routerUrl,
    followsTimeline: false,
  });
});
afterAll(async () => {
  await service.close();
  router.closeAllConnections();
  router.close();
  await ledger.close();
  auth.close();
});

async function lookUp(callId: string, headers: Record<string, string>, { publicUrl } = service) {
  const answer = await request(`${publicUrl}/v1/svc/usage/request/${callId}`, { headers });
  return { status: answer.statusCode, text: await answer.body.text() };
}
const as = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` });

async function call(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown) {
  const answer = await request(`${service.internalUrl}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(await internalHeaders('usage-ledger', `${method} ${path}`)) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> };
}

/** Sends events the way the router does, and waits until they are recorded. */
async function recorded(...events: UsageRecorded[]): Promise<void> {
  const producer = createEmbeddedProducer({ url: service.internalUrl, internalHeaders });
  const records = events.map((event) => ({ key: event.keyId, value: toUsageRecordedJson(event) }));
  await producer.append(usageRecorded.topic, records);
  await producer.close();
  while ((await service.consumer.lag()) > 0n) await delay(10);
}

describe('GET /v1/svc/usage/request/{request_id}', () => {
  it('answers the record of a call to the key that made it', async () => {
    const event = aUsageRecorded({ startedAtMs: Date.UTC(2026, 10, 20, 8, 0, 0, 7), chargeNanoUsd: 125_003n });
    await recorded(event);

    const { status, text } = await lookUp(event.callId, as(auth.issueKey(event.keyId)));

    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({
      object: 'usage.request',
      currency: 'USD',
      request_id: event.callId,
      model: 'small-chat@engine-1',
      canonical_model: 'small-chat',
      status: 'success',
      prompt_tokens: 120,
      completion_tokens: 80,
      total_tokens: 200,
      total_spend: 0.000125003,
      modality: 'text',
      units_consumed: null,
      billing_unit: 'token',
      started_at: '2026-11-20T08:00:00.007Z',
      ended_at: '2026-11-20T08:00:01.207Z',
      generated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
  });

  it('answers the same bytes for an unknown id, another key’s id, a row not yet written and what is no id', async () => {
    const foreign = aUsageRecorded();
    await recorded(foreign);
    const apiKey = auth.issueKey('key_caller');
    const ids = [
      uuidv7(),
      foreign.callId,
      foreign.callId.toUpperCase(),
      'nonsense',
      '%00',
      `${foreign.callId}%0a`,
      '%zz',
      'a%2Fb',
      `${foreign.callId}x`,
      "'--",
    ];

    const answers = await Promise.all(ids.map((id) => lookUp(id, as(apiKey))));

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(JSON.parse(answers[0]?.text ?? '')).toMatchObject({ error: 'usage_not_found' });
  });

  it('answers a key that is out of credit or on hold', async () => {
    const event = aUsageRecorded();
    await recorded(event);
    const workspace = {
      workspaceId: 'ws_1',
      region: 'us' as const,
      billingStatus: 'on_hold' as const,
      monthlyCapNanoUsd: '0',
    };
    const apiKey = auth.issueKey(event.keyId, { maxBudgetNanoUsd: '0', workspace });

    expect((await lookUp(event.callId, as(apiKey))).status).toBe(200);
  });

  it.each<[string, () => Record<string, string>, object]>([
    ['no key', () => ({}), { error: 'missing_authorization' }],
    ['another scheme', () => ({ authorization: 'Basic abc' }), { error: 'malformed_authorization' }],
    ['a mistyped key', () => as('sk-wrong'), { error: { type: 'authentication_error' } }],
    ['an unknown key', () => as(generateApiKey()), { error: { type: 'authentication_error' } }],
    [
      'a blocked key',
      () => as(auth.issueKey('key_b', { isBlocked: true })),
      { error: { type: 'authentication_error' } },
    ],
    [
      'an expired key',
      () => as(auth.issueKey('key_e', { expiresAt: '2026-01-01T00:00:00Z' })),
      { error: { type: 'authentication_error' } },
    ],
  ])('answers 401 to %s', async (_what, headers, body) => {
    const { status, text } = await lookUp(uuidv7(), headers());
    expect(status).toBe(401);
    expect(JSON.parse(text)).toMatchObject(body);
  });

  it('answers 503 while keys cannot be checked', async () => {
    auth.breakDown(true);
    const answer = await lookUp(uuidv7(), as(auth.issueKey('key_a'))).finally(() => auth.breakDown(false));
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'auth_service_unavailable' } });
  });

  it('answers 504 when the query runs past its allowance, not much later than that', async () => {
    const event = aUsageRecorded();
    await recorded(event);
    const apiKey = auth.issueKey(event.keyId);
    const hasty = await startTestService(ledger, { authUrl: auth.url, usageQueryTimeoutMs: TIMEOUT_MS });

    const answer = await ledger.ownerDb
      .$transaction(async (tx) => {
        // The session says nothing while look-ups wait, for longer than one of the service may.
        await tx.$executeRaw`SET LOCAL idle_in_transaction_session_timeout = 0`;
        await tx.$executeRaw`LOCK TABLE usage_request IN ACCESS EXCLUSIVE MODE`;
        const startedAt = performance.now();
        const ask = () => lookUp(event.callId, as(apiKey), hasty);
        const answers = await Promise.all(Array.from({ length: LOOK_UPS }, ask));
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([504]));
        expect(performance.now() - startedAt).toBeLessThan(5 * TIMEOUT_MS);
        return answers[0];
      })
      .finally(() => hasty.close());

    expect(JSON.parse(answer?.text ?? '')).toMatchObject({ error: { type: 'gateway_timeout', code: 'usage_timeout' } });
    expect((await lookUp(event.callId, as(apiKey))).status).toBe(200);
  });

  it('answers 405 to another method', async () => {
    const answer = await request(`${service.publicUrl}/v1/svc/usage/request/${uuidv7()}`, { method: 'DELETE' });
    expect(answer.statusCode).toBe(405);
    expect(answer.headers.allow).toBe('GET');
    await answer.body.dump();
  });
});

describe('internal routes', () => {
  it.each(['/internal/credits', '/internal/event-log/usage.recorded.v1'])('%s is for the fleet only', async (path) => {
    const answer = await request(`${service.internalUrl}${path}`, { method: 'POST', body: '{}' });
    expect(answer.statusCode).toBe(401);
    await answer.body.dump();
  });

  it('a credit is applied once, and refused with another amount', async () => {
    const credit = {
      credit_id: randomUUID(),
      workspace_id: `ws_${randomUUID()}`,
      amount_nano_usd: '25000000000',
      note: 'top-up',
    };

    expect(await call('POST', '/internal/credits', credit)).toEqual({ status: 200, body: { applied: true } });
    expect(await call('POST', '/internal/credits', credit)).toEqual({ status: 200, body: { applied: false } });
    expect(await call('POST', '/internal/credits', { ...credit, amount_nano_usd: '1' })).toMatchObject({ status: 409 });

    const balances = await call('GET', `/internal/workspaces/${credit.workspace_id}/balances?month=2026-11`);
    expect(balances.body).toMatchObject({ credited_nano_usd: '25000000000', spent_nano_usd: '0', keys: {} });
  });

  it('lists what a workspace was given and what was taken from it, in the order it came, page by page', async () => {
    const workspaceId = `ws_${randomUUID()}`;
    const amounts = ['25', '-7', ...Array.from({ length: 499 }, () => '1')];
    for (const [index, amount] of amounts.entries())
      await addCredit(ledger.db, {
        creditId: `${workspaceId}_${index}`,
        workspaceId,
        amountNanoUsd: BigInt(amount),
        note: `${index}`,
      });
    await addCredit(ledger.db, {
      creditId: randomUUID(),
      workspaceId: `ws_${randomUUID()}`,
      amountNanoUsd: 3n,
      note: '',
    });

    const read = async (query = '') => {
      const { status, body } = await call('GET', `/internal/workspaces/${workspaceId}/credits${query}`);
      expect(status).toBe(200);
      return body as { credits: { amount_nano_usd: string }[]; next_after: string | null };
    };
    const first = await read();
    expect(first.credits[1]).toEqual({
      credit_id: `${workspaceId}_1`,
      amount_nano_usd: '-7',
      note: '1',
      created_at: expect.stringMatching(/^20\d\d-.*Z$/),
    });
    const rest = await read(`?after=${first.next_after}`);
    expect(rest.next_after).toBeNull();
    const all = [...first.credits, ...rest.credits];
    expect(all.map(({ amount_nano_usd: amount }) => amount)).toEqual(amounts);

    expect(await call('GET', `/internal/workspaces/ws_none/credits?after=x`)).toMatchObject({
      status: 400,
      body: { param: 'after' },
    });
    expect(await call('GET', `/internal/workspaces/ws_none/credits`)).toMatchObject({
      body: { credits: [], next_after: null },
    });
  });

  it('a credit that takes is announced to the gate once it is in the books, however often it is sent; one that gives is not', async () => {
    const workspaceId = `ws_${randomUUID()}`;
    const [given, taken] = ['25', '-7'].map((amount) => ({
      credit_id: randomUUID(),
      workspace_id: workspaceId,
      amount_nano_usd: amount,
      note: '',
    }));
    const announced: [string, bigint][] = [];
    answerOfRouter = async (path) => {
      announced.push([path, (await getBalances(ledger.db, { workspaceId, month: '2026-11' })).creditedNanoUsd]);
      return 200;
    };

    expect(await call('POST', '/internal/credits', given)).toMatchObject({ status: 200 });
    expect(announced).toEqual([]);
    expect(await call('POST', '/internal/credits', taken)).toEqual({ status: 200, body: { applied: true } });
    expect(await call('POST', '/internal/credits', taken)).toEqual({ status: 200, body: { applied: false } });
    const news = [`POST /internal/workspaces/${workspaceId}/balances/reload`, 18n];
    expect(announced).toEqual([news, news]);
  });

  it.each([
    ['refuses', 503],
    ['hangs up', 0],
  ])(
    'a credit that takes is recorded, and answered with 503 until it is repeated, where the router %s',
    async (_how, status) => {
      const workspaceId = `ws_${randomUUID()}`;
      const credit = { credit_id: randomUUID(), workspace_id: workspaceId, amount_nano_usd: '-7', note: '' };
      answerOfRouter = async () => status;
      const refused = { error: 'gate_not_told', message: expect.stringMatching(/is recorded, .* Repeat it/) };
      expect(await call('POST', '/internal/credits', credit)).toEqual({ status: 503, body: refused });

      answerOfRouter = async () => 200;
      expect(await call('POST', '/internal/credits', credit)).toEqual({ status: 200, body: { applied: false } });
      const balances = await getBalances(ledger.db, { workspaceId, month: '2026-11' });
      expect(balances.creditedNanoUsd).toBe(-7n);
    },
  );

  it.each([
    ['amount_nano_usd', { amount_nano_usd: 25 }],
    ['amount_nano_usd', { amount_nano_usd: '0' }],
    ['amount_nano_usd', { amount_nano_usd: '9007199254740992' }],
    ['workspace_id', { workspace_id: 'a b' }],
    ['note', { note: 'a\u0000b' }],
  ])('a credit with a wrong %s is refused by name', async (param, change) => {
    const credit = { credit_id: randomUUID(), workspace_id: 'ws_x', amount_nano_usd: '25', note: '' };
    expect(await call('POST', '/internal/credits', { ...credit, ...change })).toMatchObject({
      status: 400,
      body: { param, message: expect.stringMatching(new RegExp(`^${param} `)) },
    });
  });

  it('balances hold what the event log brought', async () => {
    const startedAtMs = Date.UTC(2026, 9, 5);
    const event = aUsageRecorded({ startedAtMs });
    await recorded(event);

    expect(await call('GET', `/internal/workspaces/${event.workspaceId}/balances?month=2026-10`)).toEqual({
      status: 200,
      body: {
        credited_nano_usd: '0',
        spent_nano_usd: '125000',
        month_spent_nano_usd: '125000',
        keys: { [event.keyId]: '125000' },
        requests: 1,
      },
    });
    const november = await call('GET', `/internal/workspaces/${event.workspaceId}/balances?month=2026-11`);
    expect(november.body).toMatchObject({ spent_nano_usd: '125000', month_spent_nano_usd: '0' });
  });

  it('the gate is told what is left, and which calls are contained in that, once the log is known to be read', async () => {
    const event = aUsageRecorded({ startedAtMs: Date.UTC(2026, 9, 5) });
    await recorded(event);
    const path = '/internal/balances/absorb';
    const asked = {
      workspace_id: event.workspaceId,
      month: '2026-09',
      keys: ['key_x'],
      calls: [event.callId, randomUUID()],
    };
    await ledger.db.$executeRaw`UPDATE recovery SET timeline = NULL`;
    expect(await call('POST', path, { workspaces: [asked] })).toMatchObject({
      status: 503,
      body: { error: 'balances_catching_up' },
    });

    await ledger.db.$executeRaw`UPDATE recovery SET timeline = current_timeline()`;
    const [now] = await ledger.db.$queryRaw<{ timeline: number }[]>`SELECT current_timeline() AS "timeline"`;
    expect(await call('POST', path, { workspaces: [asked] })).toEqual({
      status: 200,
      body: {
        timeline: now?.timeline,
        workspaces: [
          {
            workspace_id: event.workspaceId,
            seq: 1,
            left_nano_usd: '-125000',
            months: { '2026-09': '0', '2026-10': '125000' },
            keys: { [event.keyId]: '125000', key_x: '0' },
            since: {},
            final: [event.callId],
            unknown: [],
            dead_letters: [],
          },
        ],
      },
    });
    for (const wrong of [{ month: '2026-13' }, { calls: ['no id'] }, { calls: Array(2_001).fill(event.callId) }])
      expect(await call('POST', path, { workspaces: [{ ...asked, ...wrong }] })).toMatchObject({ status: 400 });
    expect(await call('POST', path, { workspaces: [asked, asked] })).toMatchObject({ status: 400 });
  });

  it('the gate is told of the first credit of a workspace before the next poll of the feed, and the same without a feed', async () => {
    await ledger.db.$executeRaw`UPDATE recovery SET timeline = current_timeline()`;
    const signingKey = generateSigningKey('global/control-plane');
    const workspaceId = `ws_${randomUUID()}`;
    const ask = async () => {
      const body = { workspaces: [{ workspace_id: workspaceId, month: '2026-11', keys: [], calls: [] }] };
      return (await call('POST', '/internal/balances/absorb', body)).body.workspaces;
    };
    expect(await ask()).toMatchObject([{ seq: 0, left_nano_usd: '0' }]);

    const credit = { kind: 'credit', seq: 1, credit_id: `welcome_${workspaceId}`, workspace_id: workspaceId } as const;
    const entries = [{ ...credit, nano_usd: '5000', note: '' }];
    let [polls, isTold] = [0, false];
    const controlPlane = createServer(async (_req, res) => {
      polls += 1;
      const told = isTold ? entries : [];
      const page = { region: 'us' as const, epoch: 'e1', after: 0, last: told.length, entries: told };
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ page: await signPage(page, signingKeySchema.parse(signingKey)) }));
    });
    await new Promise<void>((resolve) => controlPlane.listen(0, '127.0.0.1', resolve));
    const following = await startTestService(ledger, {
      authUrl: auth.url,
      usageQueryTimeoutMs: PATIENT_MS,
      controlPlane: { url: urlOf(controlPlane), keys: publicKeysSchema.parse(toPublicKey(signingKey)) },
    });
    const alone = service;
    try {
      service = following;
      await until('a poll before the credit', async () => polls > 0);
      isTold = true;
      expect(await ask()).toMatchObject([{ seq: 1, left_nano_usd: '5000' }]);
    } finally {
      service = alone;
      await following.close();
      controlPlane.closeAllConnections();
      controlPlane.close();
    }
  });

  it('a router is told of the gate on its Redis, and is forgotten when it leaves', async () => {
    const report = (body: object) => call('PUT', '/internal/routers/r1', body);
    await ledger.db.$executeRaw`UPDATE recovery SET timeline = current_timeline()`;
    const redisId = 'a'.repeat(40);
    const first = await report({ redis_id: redisId, put_back_mark: null, missing_mark: null });
    const { mark } = first.body;
    expect(first).toEqual({
      status: 200,
      body: {
        redis_id: redisId,
        mark: expect.any(String),
        is_to_be_set: true,
        is_open: false,
        is_stranger: false,
        waits_for: ['r1'],
      },
    });
    expect(await report({ redis_id: redisId, put_back_mark: mark, missing_mark: null })).toMatchObject({
      body: { mark, is_open: true, waits_for: [] },
    });
    expect(await report({ redis_id: null, put_back_mark: null, missing_mark: null })).toMatchObject({
      body: { redis_id: null, mark: null, is_open: false },
    });
    expect(await report({ redis_id: redisId, put_back_mark: 'no mark', missing_mark: null })).toMatchObject({
      status: 400,
    });
    expect(await call('DELETE', '/internal/routers/r1')).toMatchObject({ status: 200 });
    expect(await ledger.db.router.count()).toBe(0);
  });

  it.each(['', '?month=2026-13', '?month=november', '?month=2026-01&month=2026-02'])(
    'balances need one month, not "%s"',
    async (query) => {
      expect(await call('GET', `/internal/workspaces/ws_x/balances${query}`)).toMatchObject({
        status: 400,
        body: { param: 'month' },
      });
    },
  );

  it.each<[string, unknown]>([
    ['no record', { records: [] }],
    ['more than 1,000 records', { records: Array(1_001).fill({ key: 'k', value: 'v' }) }],
    ['a record without value', { records: [{ key: 'k' }] }],
    ['a body beyond 8 MiB', { records: Array(200).fill({ key: 'k', value: 'v'.repeat(50_000) }) }],
  ])('an append of %s is refused', async (_what, body) => {
    expect((await call('POST', '/internal/event-log/refused.v1', body)).status).toBe(400);
  });
});

describe('without a database', () => {
  it('answers 503 to look-ups, is not ready, and serves and records again once it is back', async () => {
    const event = aUsageRecorded();
    await recorded(event);
    const apiKey = auth.issueKey(event.keyId);
    expect((await call('GET', '/ready')).status).toBe(200);

    await postgres.crash();
    const answer = await lookUp(event.callId, as(apiKey));
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.text)).toMatchObject({ error: 'service_unavailable' });
    expect(answer.text).not.toMatch(/127\.0\.0\.1|postgres/i);
    expect((await call('GET', '/ready')).status).toBe(503);
    expect((await call('GET', '/health')).status).toBe(200);

    await postgres.restart();
    while ((await call('GET', '/ready')).status !== 200) await delay(50);
    const later = aUsageRecorded({ keyId: event.keyId });
    await recorded(later);
    for (const { callId } of [event, later]) expect((await lookUp(callId, as(apiKey))).status).toBe(200);
  });
});
