import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateApiKey } from '@turnpike/api-keys/apiKey';
import { aMediaUsageRecorded, anUnchargedUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { usageSummarySchema } from '@turnpike/public-api/usageSummary';
import { startPostgres, type TestPostgres } from '@turnpike/test-support/startPostgres';
import { request } from 'undici';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { startTestAuth, type TestAuth } from '../../test/startTestAuth.ts';
import { startTestService, type TestService } from '../../test/startTestService.ts';

/** For whatever is to succeed. */
const PATIENT_MS = 20_000;
/** The timeout of an impatient client. */
const TIMEOUT_MS = 2_000;
/** Two of a key run at once, so they would take 30 s if the timeout began with the query. */
const LOOK_UPS = 30;

let auth: TestAuth;
let postgres: TestPostgres;
let ledger: TestLedger;
let service: TestService;
beforeAll(async () => {
  auth = await startTestAuth();
  postgres = await startPostgres();
  ledger = await openTestLedger(postgres);
  service = await startTestService(ledger, { authUrl: auth.url, usageQueryTimeoutMs: PATIENT_MS });
});
afterAll(async () => {
  await service.close();
  await ledger.close();
  auth.close();
});

async function get(query: string, headers: Record<string, string>, { publicUrl } = service) {
  const answer = await request(`${publicUrl}/v1/svc/usage${query}`, { headers });
  return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> };
}
const as = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` });

const aKey = () => ({ keyId: `key_${randomUUID()}`, workspaceId: `ws_${randomUUID()}` });
const at = (day: number, hour: number) => Date.UTC(2026, 9, day, hour, 59, 59, 999);
const OCTOBER = 'start=2026-10-01&end=2026-11-01';

async function recorded(...events: UsageRecorded[]): Promise<void> {
  await aPartition(ledger.db).deliver(events);
}

const none = {
  requests: 0,
  success: 0,
  failure: 0,
  unknown: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  cache_read_input_tokens: 0,
  units_consumed: null,
  total_spend: 0,
};
/** Sums of one call of `aUsageRecorded`. */
const one = {
  ...none,
  requests: 1,
  success: 1,
  prompt_tokens: 120,
  completion_tokens: 80,
  total_tokens: 200,
  cache_read_input_tokens: 20,
  total_spend: 0.000125,
};

describe('GET /v1/svc/usage', () => {
  it('sums what the key used in the range, in all and by group', async () => {
    const key = aKey();
    await recorded(
      aUsageRecorded({ ...key, startedAtMs: at(5, 23), canonicalModel: 'large-chat', chargeNanoUsd: 1n }),
      aUsageRecorded({ ...key, startedAtMs: at(5, 22) }),
      anUnchargedUsageRecorded('failure', { ...key, startedAtMs: at(6, 0) }),
      anUnchargedUsageRecorded('unknown', { ...key, startedAtMs: at(5, 22) }),
    );
    const apiKey = auth.issueKey(key.keyId);

    const { status, body } = await get(`?${OCTOBER}&group_by=model,day`, as(apiKey));

    expect(status).toBe(200);
    expect(body).toEqual({
      object: 'usage',
      currency: 'USD',
      start: '2026-10-01T00:00:00.000Z',
      end: '2026-11-01T00:00:00.000Z',
      totals: {
        requests: 4,
        success: 2,
        failure: 1,
        unknown: 1,
        prompt_tokens: 240,
        completion_tokens: 160,
        total_tokens: 400,
        cache_read_input_tokens: 40,
        units_consumed: null,
        total_spend: 0.000125001,
      },
      data: [
        { model: 'large-chat', day: '2026-10-05', ...one, total_spend: 1e-9 },
        { model: 'small-chat', day: '2026-10-05', ...one, requests: 2, unknown: 1 },
        { model: 'small-chat', day: '2026-10-06', ...none, requests: 1, failure: 1 },
      ],
      generated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(usageSummarySchema.safeParse(body).error).toBeUndefined();
  });

  it.each<[string, object[]]>([
    ['', [{}]],
    ['&group_by=modality', [{ modality: 'text' }]],
    ['&group_by=hour', [{ hour: '2026-10-05T22:00:00.000Z' }, { hour: '2026-10-05T23:00:00.000Z' }]],
    [
      '&group_by=hour,day,modality',
      [
        { hour: '2026-10-05T22:00:00.000Z', day: '2026-10-05', modality: 'text' },
        { hour: '2026-10-05T23:00:00.000Z', day: '2026-10-05', modality: 'text' },
      ],
    ],
  ])('with "%s" has a row for each group, in the order of time, with what it is grouped by', async (query, groups) => {
    const key = aKey();
    await recorded(
      aUsageRecorded({ ...key, startedAtMs: at(5, 23) }),
      aUsageRecorded({ ...key, startedAtMs: at(5, 22) }),
    );
    const { body } = await get(`?${OCTOBER}${query}`, as(auth.issueKey(key.keyId)));
    const each = groups.length === 1 ? body.totals : one;
    expect(body.data).toEqual(groups.map((group) => ({ ...group, ...(each as object) })));
  });

  it('shows the units of media by modality and by model, beside text that has none', async () => {
    const key = { ...aKey(), startedAtMs: at(5, 22) };
    const nothing = { units: 0, chargeNanoUsd: 0n, formulaNanoUsd: 0n };
    const speech = { modality: 'audio', operation: 'audio.speech', billingUnit: 'character' } as const;
    const speechToText = { modality: 'audio', operation: 'audio.transcriptions', billingUnit: 'minute' } as const;
    const media = { ...none, requests: 1, success: 1, total_spend: 0.000125 };
    await recorded(
      aUsageRecorded(key),
      aMediaUsageRecorded(key),
      aMediaUsageRecorded({ ...key, ...nothing, status: 'failure' }),
    );
    const headers = as(auth.issueKey(key.keyId));
    expect((await get(`?${OCTOBER}`, headers)).body.totals).toEqual({
      ...one,
      requests: 3,
      success: 2,
      failure: 1,
      units_consumed: 2,
      total_spend: 0.00025,
    });

    await recorded(
      aMediaUsageRecorded({ ...key, ...speech, canonicalModel: 'voice', units: 4_000 }),
      aMediaUsageRecorded({ ...key, ...speechToText, canonicalModel: 'ear', units: 75 }),
      aMediaUsageRecorded({
        ...key,
        ...nothing,
        modality: 'video',
        operation: 'videos',
        billingUnit: 'second',
        status: 'failure',
      }),
    );
    // Characters and minutes are not added up.
    const byModality = await get(`?${OCTOBER}&group_by=modality`, headers);
    expect(byModality.body.data).toEqual([
      { modality: 'audio', ...media, requests: 2, success: 2, total_spend: 0.00025 },
      { modality: 'image', ...media, requests: 2, failure: 1, units_consumed: 2 },
      { modality: 'text', ...one },
      { modality: 'video', ...none, requests: 1, failure: 1, units_consumed: 0 },
    ]);
    const byModel = await get(`?${OCTOBER}&group_by=model,modality`, headers);
    expect(byModel.body.data).toEqual(
      expect.arrayContaining([
        { model: 'voice', modality: 'audio', ...media, units_consumed: 4_000 },
        { model: 'ear', modality: 'audio', ...media, units_consumed: 1.25 },
      ]),
    );
    expect(byModel.body.totals).toMatchObject({ requests: 6, units_consumed: null });
    expect(usageSummarySchema.safeParse(byModel.body).error).toBeUndefined();
  });

  it('counts a call in the hour it was admitted in, from the start on and up to the end', async () => {
    const key = aKey();
    const midnight = Date.UTC(2026, 9, 10);
    const calls = [midnight - 1, midnight, midnight + 3_599_999, midnight + 3_600_000];
    await recorded(...calls.map((startedAtMs) => aUsageRecorded({ ...key, startedAtMs, endedAtMs: midnight + 9e6 })));
    const headers = as(auth.issueKey(key.keyId));
    const requestsOf = async (query: string) => (await get(query, headers)).body.totals;

    expect(await requestsOf('?start=2026-10-10T00:00:00Z&end=2026-10-10T01:00:00Z')).toMatchObject({ requests: 2 });
    expect(await requestsOf('?start=2026-10-10&end=2026-10-11')).toMatchObject({ requests: 3 });
    expect(await requestsOf('?start=2026-10-09&end=2026-10-10')).toMatchObject({ requests: 1 });
  });

  it('moves a call from unknown to what it turned out to be', async () => {
    const unknown = anUnchargedUsageRecorded('unknown', { startedAtMs: at(5, 5) });
    const headers = as(auth.issueKey(unknown.keyId));
    await recorded(unknown);
    expect((await get(`?${OCTOBER}`, headers)).body.totals).toEqual({ ...none, requests: 1, unknown: 1 });

    const { callId, keyId, workspaceId, startedAtMs } = unknown;
    await recorded(aUsageRecorded({ callId, keyId, workspaceId, startedAtMs }));
    expect((await get(`?${OCTOBER}`, headers)).body.totals).toEqual(one);
  });

  it('covers the current calendar month by itself', async () => {
    const key = aKey();
    const { status, body } = await get('', as(auth.issueKey(key.keyId)));
    expect(status).toBe(200);
    const month = new Date(String(body.generated_at));
    expect(body).toMatchObject({
      start: new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth())).toISOString(),
      end: new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1)).toISOString(),
    });
  });

  it('shows nothing of another key, of the same workspace or not', async () => {
    const [mine, other] = [aKey(), aKey()];
    const neighbour = { ...mine, keyId: `key_${randomUUID()}` };
    await recorded(...[other, neighbour].map((key) => aUsageRecorded({ ...key, startedAtMs: at(5, 5) })));
    const { body } = await get(`?${OCTOBER}&group_by=model`, as(auth.issueKey(mine.keyId)));
    expect(body).toMatchObject({ totals: none, data: [] });
  });

  it('answers a key that is out of credit or on hold', async () => {
    const workspace = { workspaceId: 'ws_1', region: 'us' as const, monthlyCapNanoUsd: '0' };
    const apiKey = auth.issueKey('key_poor', {
      maxBudgetNanoUsd: '0',
      workspace: { ...workspace, billingStatus: 'on_hold' },
    });
    expect((await get('', as(apiKey))).status).toBe(200);
  });

  it.each([
    ['start', '?start=today'],
    ['start', '?start=2026-10-01T00:30:00Z'],
    ['start', '?start=2026-10-01&start=2026-10-02'],
    ['start', '?start=2025-10-01&end=2026-11-01'],
    ['end', '?start=2026-10-02&end=2026-10-01'],
    ['end', '?end=2026-10-01T00:00:00%2B02:00'],
    ['group_by', '?group_by='],
    ['group_by', '?group_by=key'],
    ['group_by', '?group_by=day,day'],
    ['group_by', '?group_by=day&group_by=model'],
    ['model', '?model=small-chat'],
    ['query', '?__proto__[x]=1'],
    ['query', `?${generateApiKey()}`],
    ['query', '?%00'],
  ])('answers 400 that names %s to "%s"', async (param, query) => {
    expect(await get(query, as(auth.issueKey('key_a')))).toEqual({
      status: 400,
      body: { error: 'invalid_request', message: expect.any(String), param },
    });
  });

  it('gives 10,000 rows, and refuses a question whose answer has more', async () => {
    const { keyId } = aKey();
    const fill = (model: string, hours: number) => ledger.ownerDb.$executeRaw`
      INSERT INTO key_hour_total
      SELECT ${keyId}, '2026-01-01T00:00:00Z'::TIMESTAMPTZ + make_interval(hours => nth), ${model}, 'text',
        1, 1, 0, 0, 1, 0, 1, 1 FROM generate_series(0, ${hours - 1}::INT) AS nth`;
    const ask = (groupBy: string) =>
      get(`?start=2026-01-01&end=2027-01-01&group_by=${groupBy}`, as(auth.issueKey(keyId)));
    await fill('small-chat', 8_000);
    await fill('large-chat', 2_000);

    const { status, body } = await ask('hour,model');
    expect(status).toBe(200);
    expect(body.data).toHaveLength(10_000);
    expect(body.totals).toMatchObject({ requests: 10_000, total_spend: 0.00001 });

    await fill('third-chat', 1);
    expect(await ask('hour,model')).toMatchObject({ status: 400, body: { param: 'group_by' } });
    expect((await ask('day,model')).status).toBe(200);
  });

  it.each<[string, () => Record<string, string>, object]>([
    ['no key', () => ({}), { error: 'missing_authorization' }],
    ['another scheme', () => ({ authorization: 'Basic abc' }), { error: 'malformed_authorization' }],
    ['an unknown key', () => as(generateApiKey()), { error: { type: 'authentication_error' } }],
    [
      'a blocked key',
      () => as(auth.issueKey('key_b', { isBlocked: true })),
      { error: { type: 'authentication_error' } },
    ],
  ])('answers 401 to %s, before it looks at the query', async (_what, headers, body) => {
    expect(await get('?start=today', headers())).toMatchObject({ status: 401, body });
  });

  it('answers 429 to a key that asks more often than one may, and serves another', async () => {
    const strict = await startTestService(ledger, {
      authUrl: auth.url,
      usageQueryTimeoutMs: PATIENT_MS,
      lookUpsPerSecond: 1,
      cacheTtlMs: 600_000,
    });
    try {
      const ask = async (apiKey: string) => {
        const { statusCode, headers, body } = await request(`${strict.publicUrl}/v1/svc/usage`, {
          headers: as(apiKey),
        });
        return { status: statusCode, retryAfter: headers['retry-after'], body: await body.json() };
      };
      const [flooding, other] = [auth.issueKey(aKey().keyId), auth.issueKey(aKey().keyId)];
      const answers = await Promise.all([...Array.from({ length: 40 }, () => ask(flooding)), ask(other)]);
      const refused = answers.slice(0, -1).filter(({ status }) => status !== 200);
      expect(refused.length).toBeGreaterThan(0);
      for (const answer of refused) {
        expect(answer).toEqual({
          status: 429,
          retryAfter: expect.stringMatching(/^[1-9]\d*$/),
          body: {
            error: 'rate_limit_exceeded',
            message: expect.any(String),
            doc_url: 'https://dashboard.example/keys',
          },
        });
      }
      expect(answers.at(-1)?.status).toBe(200);
    } finally {
      await strict.close();
    }
  });

  it('answers 503 while keys cannot be checked', async () => {
    auth.breakDown(true);
    const answer = await get('', as(auth.issueKey('key_a'))).finally(() => auth.breakDown(false));
    expect(answer).toMatchObject({ status: 503, body: { error: { code: 'auth_service_unavailable' } } });
  });

  it('answers 504 when the query runs past its allowance, not much later than that', async () => {
    const headers = as(auth.issueKey('key_slow'));
    const hasty = await startTestService(ledger, { authUrl: auth.url, usageQueryTimeoutMs: TIMEOUT_MS });
    const answers = await ledger.ownerDb
      .$transaction(async (tx) => {
        // The session says nothing while look-ups wait, for longer than one of the service may.
        await tx.$executeRaw`SET LOCAL idle_in_transaction_session_timeout = 0`;
        await tx.$executeRaw`LOCK TABLE key_hour_total IN ACCESS EXCLUSIVE MODE`;
        const startedAt = performance.now();
        const waited = await Promise.all(Array.from({ length: LOOK_UPS }, () => get('', headers, hasty)));
        expect(performance.now() - startedAt).toBeLessThan(5 * TIMEOUT_MS);
        return waited;
      })
      .finally(() => hasty.close());

    for (const answer of answers) {
      expect(answer).toEqual({
        status: 504,
        body: { error: { message: expect.any(String), type: 'gateway_timeout', code: 'usage_timeout' } },
      });
    }
    expect((await get('', headers)).status).toBe(200);
  });

  it('answers 405 to another method', async () => {
    const answer = await request(`${service.publicUrl}/v1/svc/usage`, { method: 'POST', body: '{}' });
    expect(answer.statusCode).toBe(405);
    expect(answer.headers.allow).toBe('GET');
    await answer.body.dump();
  });

  it('answers 503 without a database, and the sums again once it is back', async () => {
    const event = aUsageRecorded({ startedAtMs: at(5, 5) });
    await recorded(event);
    const headers = as(auth.issueKey(event.keyId));

    await postgres.crash();
    const answer = await get(`?${OCTOBER}`, headers);
    expect(answer).toMatchObject({ status: 503, body: { error: 'service_unavailable' } });
    expect(JSON.stringify(answer.body)).not.toMatch(/127\.0\.0\.1|postgres/i);

    await postgres.restart();
    while ((await get('', headers)).status !== 200) await delay(50);
    expect((await get(`?${OCTOBER}`, headers)).body.totals).toEqual(one);
  });
});
