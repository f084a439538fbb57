import { expect } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import pg from 'pg';
import { type Account, makeAccount, type UsageRecord } from '../../support/makeAccount.ts';
import { readFirstEvent } from '../../support/postJson.ts';
import { toNano } from '../../support/priceOf.ts';
import { stack } from '../support/plainStack.ts';
import { row } from '../support/row.ts';
import { flat } from '../support/shapes.ts';

const MODEL = 'llama-3.3-70b-instruct';
const OTHER_MODEL = 'llama-3.1-8b-instruct';
const EMBEDDING_MODEL = 'bge-m3';
const DAY_MS = 24 * 60 * 60 * 1_000;

const chat = (account: Account, directives = 'tokens=3', fields: object = {}) =>
  account.post('/chat/completions', {
    model: MODEL,
    messages: [{ role: 'user', content: `hi [[sim: ttft_ms=0 itl_ms=0 ${directives}]]` }],
    ...fields,
  });

interface Totals {
  requests: number;
  success: number;
  failure: number;
  unknown: number;
  total_spend: number;
  [count: string]: number;
}
interface Aggregate {
  start: string;
  end: string;
  totals: Totals;
  data: (Totals & { model?: string; day?: string; hour?: string; modality?: string })[];
}
const COUNTS = [
  ...['requests', 'success', 'failure', 'unknown', 'prompt_tokens', 'completion_tokens', 'total_tokens'],
  'cache_read_input_tokens',
];

/** The days of calls, as a range of a query: a month may end between a call and its look-up. */
function rangeOf(records: UsageRecord[]): string {
  const startedAt = records.map(({ started_at: at }) => Date.parse(at));
  const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
  return `start=${dayOf(Math.min(...startedAt))}&end=${dayOf(Math.max(...startedAt) + DAY_MS)}`;
}

/** Calls of every kind, all of them recorded, and the days of them. */
async function callAround() {
  const account = await makeAccount(stack);
  const responses = [
    await chat(account, 'tokens=33'),
    await chat(account, 'tokens=13', { stream: true }),
    await chat(account, 'tokens=57', { model: OTHER_MODEL }),
    await chat(account, 'tokens=1', { model: OTHER_MODEL }),
    await account.post('/embeddings', { model: EMBEDDING_MODEL, input: 'À bientôt' }),
    await chat(account, 'no-such-directive'),
    await chat(account, 'tokens=50 fault=reset_mid_stream after=5', { model: OTHER_MODEL, stream: true }),
  ];
  await Promise.all(responses.map((response) => response.text()));
  const left = await chat(account, 'tokens=4000 itl_ms=10', { stream: true });
  await readFirstEvent(left);
  await left.body?.cancel();
  const records = await Promise.all([...responses, left].map(({ headers }) => account.untilUsage(headers)));
  return { account, records, range: rangeOf(records) };
}
let calledAround: ReturnType<typeof callAround> | undefined;
/** The same account for all rows, which only look at what it has used. */
function aBusyAccount(): ReturnType<typeof callAround> {
  calledAround ??= callAround();
  return calledAround;
}

/** Sums the records of calls, independently of the service. */
function sumOf(records: UsageRecord[]) {
  const count = (status: string) => records.filter((record) => record.status === status).length;
  const sum = (name: 'prompt_tokens' | 'completion_tokens' | 'total_tokens') =>
    records.reduce((total, record) => total + record[name], 0);
  const spent = records.reduce((total, { total_spend: spend }) => total + toNano(spend), 0n);
  return {
    requests: records.length,
    success: count('success'),
    failure: count('failure'),
    unknown: count('unknown'),
    prompt_tokens: sum('prompt_tokens'),
    completion_tokens: sum('completion_tokens'),
    total_tokens: sum('total_tokens'),
    units_consumed: null,
    total_spend: Number(`${spent / 10n ** 9n}.${String(spent % 10n ** 9n).padStart(9, '0')}`),
  };
}

async function aggregate(account: Account, query = ''): Promise<Aggregate> {
  const { status, body } = await account.get<Aggregate>(`/svc/usage${query}`);
  expect({ query, status, body }).toEqual({ query, status: 200, body: expect.any(Object) });
  return body;
}

row('aggregate.shape', async () => {
  const totals = Object.fromEntries([...COUNTS, 'total_spend'].map((name) => [name, expect.any(Number)]));
  expect(await aggregate(await makeAccount(stack))).toEqual({
    object: 'usage',
    currency: 'USD',
    start: expect.any(String),
    end: expect.any(String),
    totals: expect.objectContaining(totals),
    data: expect.any(Array),
    generated_at: expect.any(String),
  });
});

row('aggregate.totals', async () => {
  const { account, records, range } = await aBusyAccount();
  const { totals, data } = await aggregate(account, `?${range}`);
  expect(totals).toMatchObject({ requests: 8, success: 6, failure: 2, unknown: 0 });
  expect(totals.total_spend).toBeGreaterThan(0);
  expect(totals).toMatchObject(sumOf(records));
  expect(data).toEqual([totals]);
  expect(await account.findSpend()).toBe(toNano(totals.total_spend));
});

row('aggregate.default-month', async () => {
  const account = await makeAccount(stack);
  const before = new Date();
  const { start, end } = await aggregate(account);
  // A month may end while the answer is on its way.
  const months = [before, new Date()].map((now) => {
    const firstOf = (month: number) => Date.UTC(now.getUTCFullYear(), month);
    return { start: firstOf(now.getUTCMonth()), end: firstOf(now.getUTCMonth() + 1) };
  });
  expect(months).toContainEqual({ start: Date.parse(start), end: Date.parse(end) });
});

row('aggregate.group_by', async () => {
  const { account, records, range } = await aBusyAccount();
  const groupsOf = async (by: string) => (await aggregate(account, `?${range}&group_by=${by}`)).data;
  const models = [EMBEDDING_MODEL, OTHER_MODEL, MODEL];
  expect(await groupsOf('model')).toMatchObject(
    models.map((model) => ({ model, ...sumOf(records.filter((record) => record.canonical_model === model)) })),
  );
  const days = [...new Set(records.map(({ started_at: at }) => at.slice(0, 10)))].sort();
  expect(await groupsOf('day')).toMatchObject(
    days.map((day) => ({ day, ...sumOf(records.filter(({ started_at: at }) => at.startsWith(day))) })),
  );
  for (const by of ['day', 'hour', 'modality'] as const) {
    expect((await groupsOf(by)).every((group) => typeof group[by] === 'string')).toBe(true);
  }
  const both = await groupsOf('model,modality');
  expect(both.map(({ model, modality }) => `${model} ${modality}`).sort()).toEqual(
    models.map((model) => `${model} text`),
  );
});

row('aggregate.rows-sum', async () => {
  const { account, range } = await aBusyAccount();
  const inAll = await aggregate(account, `?${range}`);
  for (const by of ['model', 'day', 'model,hour']) {
    const { data, totals } = await aggregate(account, `?${range}&group_by=${by}`);
    expect(totals).toEqual(inAll.totals);
    for (const name of COUNTS) expect(data.reduce((sum, group) => sum + (group[name] ?? 0), 0)).toBe(totals[name]);
    expect(data.reduce((sum, { total_spend: spend }) => sum + toNano(spend), 0n)).toBe(toNano(totals.total_spend));
  }
});

row('aggregate.range', async () => {
  const { account } = await aBusyAccount();
  const { data, totals } = await aggregate(account, '?start=2024-01-01&end=2024-02-01&group_by=model');
  expect(data).toEqual([]);
  expect(totals).toMatchObject({ requests: 0, total_spend: 0 });
});

row('aggregate.invalid', async () => {
  const account = await makeAccount(stack);
  for (const [query, param] of [
    ['start=yesterday', 'start'],
    ['end=2026-13-01', 'end'],
    ['start=2026-01-01T00:30:00Z', 'start'],
    ['start=2024-01-01&end=2026-01-01', 'start'],
    ['start=2025-01-01&end=2026-11-01', 'start'],
    ['start=2026-02-01&end=2026-01-01', 'end'],
    ['start=2026-10-02&end=2026-10-01', 'end'],
    ['group_by=colour', 'group_by'],
    ['group_by=model,colour', 'group_by'],
    ['limit=10', 'limit'],
  ]) {
    const { status, body } = await account.get<object>(`/svc/usage?${query}`);
    expect({ query, status, body }).toEqual({ query, status: 400, body: flat('invalid_request', { param }) });
  }
});

row('aggregate.own-alone', async () => {
  const { account, range } = await aBusyAccount();
  const colleague = await makeAccount(stack, { workspaceId: account.workspaceId });
  expect((await aggregate(colleague)).totals).toMatchObject({ requests: 0, total_spend: 0 });
  const byModel = await aggregate(colleague, `?${range}&group_by=model`);
  expect(byModel).toMatchObject({ totals: { requests: 0, total_spend: 0 }, data: [] });
});

/** The default of `USAGE_QUERY_TIMEOUT_MS`. */
const ALLOWANCE_MS = 5_000;

row('aggregate.timeout', async () => {
  const account = await makeAccount(stack);
  const earlier = await chat(account);
  const { request_id: callId } = await account.untilUsage(earlier.headers);

  const ledgerUrl = new URL(stack.running.stack.regions.us.postgres_url);
  ledgerUrl.pathname = '/ledger';
  const rival = new pg.Client({ connectionString: ledgerUrl.href, query_timeout: 10_000 });
  await rival.connect();
  let later = earlier;
  try {
    await rival.query('BEGIN');
    await rival.query('LOCK TABLE key_hour_total IN ACCESS EXCLUSIVE MODE');
    // A machine that takes as long for a call as a sum may take gets another try.
    await until('a call and a look-up by id to be answered before the sums', async () => {
      const startedAt = performance.now();
      let isOver = false;
      const slow = Promise.all(Array.from({ length: 20 }, () => account.get('/svc/usage'))).finally(() => {
        isOver = true;
      });
      later = await chat(account);
      expect(later.status).toBe(200);
      expect((await account.get(`/svc/usage/request/${callId}`)).status).toBe(200);
      const isFirst = !isOver;
      for (const { status, body } of await slow) {
        expect(status).toBe(504);
        expect(body).toMatchObject({ error: { type: 'gateway_timeout', code: 'usage_timeout' } });
      }
      // The table is still locked: they did not wait for it.
      const tookMs = performance.now() - startedAt;
      expect(tookMs).toBeGreaterThanOrEqual(ALLOWANCE_MS - 5);
      // Nor long after it, as far as a busy machine lets that be told.
      expect(tookMs).toBeLessThan(ALLOWANCE_MS + 30_000);
      return isFirst;
    });
  } finally {
    await rival.end();
  }
  // Calls of the outage are recorded and summed once the ledger can write again.
  expect(await account.untilUsage(later.headers)).toMatchObject({ status: 'success' });
  expect((await account.get('/svc/usage')).status).toBe(200);
});
