import { expect, it } from '@jest/globals';
import pg from 'pg';
import { type Caller, makeCaller, type UsageRecord } from '../support/makeCaller.ts';
import { toNano } from '../support/priceOf.ts';
import { stack } from './plainStack.ts';

const CHAT_MODELS = ['llama-3.3-70b-instruct', 'llama-3.1-8b-instruct'] as const;
const EMBEDDING_MODEL = 'bge-m3';
/** The default of `USAGE_QUERY_TIMEOUT_MS`. */
const ALLOWANCE_MS = 5_000;

/** What `GET /v1/svc/usage` says, as far as it is read here. */
interface UsageSummary {
  totals: { total_spend: number };
  data: object[];
}

const usageOf = (caller: Caller, query = '') => caller.get<UsageSummary>(`/svc/usage${query}`);
const messages = (content: string) => [{ role: 'user' as const, content }];

/** Calls of every kind: whole ones, a stream that the engine breaks, one that the client leaves, embeddings. */
async function callAround({ openai, untilUsage }: Caller): Promise<UsageRecord[]> {
  const [large, small] = CHAT_MODELS;
  const answers: Headers[] = [];
  for (const [model, tokens] of [[large, 33] as const, [small, 57] as const, [small, 1] as const]) {
    const { response } = await openai.chat.completions
      .create({ model, messages: messages(`Übung 🙂 [[sim: tokens=${tokens}]]`) })
      .withResponse();
    answers.push(response.headers);
  }
  const broken = await openai.chat.completions
    .create({ model: small, messages: messages('[[sim: tokens=50 fault=reset_mid_stream after=5]]'), stream: true })
    .withResponse();
  await expect(Array.fromAsync(broken.data)).rejects.toThrow();
  answers.push(broken.response.headers);

  const left = await openai.chat.completions
    .create({ model: large, messages: messages('A long story [[sim: tokens=4000 itl_ms=10]]'), stream: true })
    .withResponse();
  let chunks = 0;
  for await (const _chunk of left.data) {
    chunks += 1;
    if (chunks === 10) break; // leaves the loop, which aborts the request
  }
  answers.push(left.response.headers);

  const embedded = await openai.embeddings.create({ model: EMBEDDING_MODEL, input: 'À bientôt' }).withResponse();
  answers.push(embedded.response.headers);
  return Promise.all(answers.map((headers) => untilUsage(headers)));
}

/** What the records of calls say together, made here anew. */
function sumOf(records: UsageRecord[]) {
  const count = (status: string) => records.filter((record) => record.status === status).length;
  const sum = (name: 'prompt_tokens' | 'completion_tokens' | 'total_tokens') =>
    records.reduce((total, record) => total + record[name], 0);
  return {
    requests: records.length,
    success: count('success'),
    failure: count('failure'),
    unknown: count('unknown'),
    prompt_tokens: sum('prompt_tokens'),
    completion_tokens: sum('completion_tokens'),
    total_tokens: sum('total_tokens'),
    units_consumed: null,
    total_spend: toUsd(records.reduce((total, { total_spend }) => total + toNano(total_spend), 0n)),
  };
}

const toUsd = (nano: bigint) => Number(`${nano / 10n ** 9n}.${String(nano % 10n ** 9n).padStart(9, '0')}`);

it('the sums of a key are those of its calls, to the nano-dollar, in all, by model and by day', async () => {
  const caller = await makeCaller(stack);
  const records = await callAround(caller);
  expect(new Set(records.map(({ status }) => status))).toEqual(new Set(['success', 'failure']));
  expect(sumOf(records).total_spend).toBeGreaterThan(0);
  // From the day of the first call to the end of the next one: the calls may lie around midnight.
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  const startedAt = records.map(({ started_at }) => Date.parse(started_at));
  const range = `?start=${day(Math.min(...startedAt))}&end=${day(Math.max(...startedAt) + 86_400_000)}`;

  const inAll = await usageOf(caller, range);
  expect(inAll.status).toBe(200);
  expect(inAll.body).toMatchObject({ object: 'usage', currency: 'USD', generated_at: expect.any(String) });
  expect(inAll.body.totals).toMatchObject(sumOf(records));
  expect(inAll.body.data).toEqual([inAll.body.totals]);
  expect(await caller.findSpend()).toBe(toNano(inAll.body.totals.total_spend));

  const { body: byModel } = await usageOf(caller, `${range}&group_by=model`);
  const models = [...new Set(records.map(({ canonical_model }) => canonical_model))].sort();
  expect(models).toEqual([...CHAT_MODELS, EMBEDDING_MODEL].sort());
  expect(byModel.totals).toEqual(inAll.body.totals);
  expect(byModel.data).toMatchObject(
    models.map((model) => ({
      model,
      ...sumOf(records.filter(({ canonical_model }) => canonical_model === model)),
    })),
  );

  const { body: byDay } = await usageOf(caller, `${range}&group_by=day`);
  const days = [...new Set(records.map(({ started_at }) => started_at.slice(0, 10)))].sort();
  expect(byDay.data).toMatchObject(
    days.map((of) => ({ day: of, ...sumOf(records.filter(({ started_at }) => started_at.startsWith(of))) })),
  );
});

it('shows nothing of a key to another key of its workspace', async () => {
  const caller = await makeCaller(stack);
  const { response } = await caller.openai.chat.completions
    .create({ model: CHAT_MODELS[1], messages: messages('hi [[sim: tokens=3]]') })
    .withResponse();
  const record = await caller.untilUsage(response.headers);
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  const startedAt = Date.parse(record.started_at);
  const range = `?start=${day(startedAt)}&end=${day(startedAt + 86_400_000)}`;

  const neighbour = await makeCaller(stack, { workspaceId: caller.workspaceId });
  expect((await usageOf(caller, range)).body.totals).toMatchObject({ requests: 1 });
  const { body } = await usageOf(neighbour, `${range}&group_by=model`);
  expect(body).toMatchObject({ totals: { requests: 0, total_spend: 0 }, data: [] });
});

it.each([
  ['start', '?start=2026-10-01T00:30:00Z'],
  ['start', '?start=2025-01-01&end=2026-11-01'],
  ['end', '?start=2026-10-02&end=2026-10-01'],
  ['group_by', '?group_by=model,colour'],
  ['limit', '?limit=10'],
])('answers 400 that names %s to "%s"', async (param, query) => {
  const caller = await makeCaller(stack);
  expect(await usageOf(caller, query)).toEqual({
    status: 400,
    body: { error: 'invalid_request', message: expect.any(String), param },
  });
});

it('answers 504 at its allowance when the query is slow, and neither chat nor look-ups by id wait for it', async () => {
  const caller = await makeCaller(stack);
  const chat = () =>
    caller.openai.chat.completions
      .create({ model: CHAT_MODELS[1], messages: messages('hi [[sim: tokens=3]]') })
      .withResponse();
  const { response: earlier } = await chat();
  const { request_id: callId } = await caller.untilUsage(earlier.headers);

  const ledgerUrl = new URL(stack.running.stack.regions.us.postgres_url);
  ledgerUrl.pathname = '/ledger';
  const rival = new pg.Client({ connectionString: ledgerUrl.href, query_timeout: 10_000 });
  await rival.connect();
  let later: Headers;
  try {
    await rival.query('BEGIN');
    await rival.query('LOCK TABLE key_hour_total IN ACCESS EXCLUSIVE MODE');
    const startedAt = performance.now();
    let isOver = false;
    const slow = Promise.all(Array.from({ length: 20 }, () => usageOf(caller))).finally(() => {
      isOver = true;
    });

    later = (await chat()).response.headers;
    expect((await caller.get(`/svc/usage/request/${callId}`)).status).toBe(200);
    expect(isOver).toBe(false);
    for (const { status, body } of await slow) {
      expect(status).toBe(504);
      expect(body).toMatchObject({ error: { type: 'gateway_timeout', code: 'usage_timeout' } });
    }
    // The table is still locked: they did not wait for it.
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThanOrEqual(ALLOWANCE_MS - 5);
    // Nor long after it, as far as a busy machine lets that be told.
    expect(tookMs).toBeLessThan(ALLOWANCE_MS + 10_000);
  } finally {
    await rival.end();
  }
  // What was called meanwhile is recorded and summed once the ledger can write again.
  const { status } = await caller.untilUsage(later);
  expect(status).toBe('success');
  expect((await usageOf(caller)).status).toBe(200);
});
