import { expect } from '@jest/globals';
import { type Caller, makeCaller } from '../../support/makeCaller.ts';
import { toNano } from '../../support/priceOf.ts';
import { stack } from '../support/plainStack.ts';
import { row } from '../support/row.ts';

const MODEL = 'llama-3.3-70b-instruct';
const OTHER_MODEL = 'llama-3.1-8b-instruct';
const DAY_MS = 24 * 60 * 60 * 1_000;

const chat = (caller: Caller, directives = 'tokens=3', fields: object = {}) =>
  caller.post('/chat/completions', {
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

/**
 * A caller with two calls of one model, one of another and a failed one, all of them recorded, and the days of them: a month
 * may end between a call and its look-up.
 */
async function aBusyCaller() {
  const caller = await makeCaller(stack);
  const responses = [
    await chat(caller, 'tokens=7'),
    await chat(caller, 'tokens=13', { stream: true }),
    await chat(caller, 'tokens=29', { model: OTHER_MODEL }),
    await chat(caller, 'no-such-directive'),
  ];
  await Promise.all(responses.map((response) => response.text()));
  const records = await Promise.all(responses.map(({ headers }) => caller.untilUsage(headers)));
  const days = records.map(({ started_at: startedAt }) => Date.parse(startedAt)).sort((a, b) => a - b);
  const dayOf = (at = 0) => new Date(at).toISOString().slice(0, 10);
  return { caller, records, range: `start=${dayOf(days[0])}&end=${dayOf((days.at(-1) ?? 0) + DAY_MS)}` };
}
async function aggregate(caller: Caller, query = ''): Promise<Aggregate> {
  const { status, body } = await caller.get<Aggregate>(`/svc/usage${query}`);
  expect({ query, status, body }).toEqual({ query, status: 200, body: expect.any(Object) });
  return body;
}

row('aggregate.shape', async () => {
  const totals = Object.fromEntries([...COUNTS, 'total_spend'].map((name) => [name, expect.any(Number)]));
  expect(await aggregate(await makeCaller(stack))).toEqual({
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
  const { caller, records, range } = await aBusyCaller();
  const { totals } = await aggregate(caller, `?${range}`);
  const sumOf = (name: 'prompt_tokens' | 'completion_tokens' | 'total_tokens') =>
    records.reduce((sum, record) => sum + record[name], 0);
  expect(totals).toMatchObject({
    requests: 4,
    success: 3,
    failure: 1,
    unknown: 0,
    prompt_tokens: sumOf('prompt_tokens'),
    completion_tokens: sumOf('completion_tokens'),
    total_tokens: sumOf('total_tokens'),
  });
  const spent = records.reduce((sum, { total_spend: spend }) => sum + toNano(spend), 0n);
  expect(toNano(totals.total_spend)).toBe(spent);
});

row('aggregate.default-month', async () => {
  const caller = await makeCaller(stack);
  const before = new Date();
  const { start, end } = await aggregate(caller);
  // A month may end while the answer is on its way.
  const months = [before, new Date()].map((now) => {
    const firstOf = (month: number) => Date.UTC(now.getUTCFullYear(), month);
    return { start: firstOf(now.getUTCMonth()), end: firstOf(now.getUTCMonth() + 1) };
  });
  expect(months).toContainEqual({ start: Date.parse(start), end: Date.parse(end) });
});

row('aggregate.group_by', async () => {
  const { caller, range } = await aBusyCaller();
  const groupsOf = async (by: string) => (await aggregate(caller, `?${range}&group_by=${by}`)).data;
  expect((await groupsOf('model')).map(({ model }) => model).sort()).toEqual([OTHER_MODEL, MODEL]);
  for (const by of ['day', 'hour', 'modality'] as const) {
    expect((await groupsOf(by)).every((group) => typeof group[by] === 'string')).toBe(true);
  }
  const both = await groupsOf('model,modality');
  expect(both.map(({ model, modality }) => `${model} ${modality}`).sort()).toEqual([
    `${OTHER_MODEL} text`,
    `${MODEL} text`,
  ]);
});

row('aggregate.rows-sum', async () => {
  const { caller, range } = await aBusyCaller();
  for (const by of ['model', 'day', 'model,hour']) {
    const { data, totals } = await aggregate(caller, `?${range}&group_by=${by}`);
    for (const name of COUNTS) expect(data.reduce((sum, group) => sum + (group[name] ?? 0), 0)).toBe(totals[name]);
    expect(data.reduce((sum, { total_spend: spend }) => sum + toNano(spend), 0n)).toBe(toNano(totals.total_spend));
  }
});

row('aggregate.range', async () => {
  const { caller } = await aBusyCaller();
  const { data, totals } = await aggregate(caller, '?start=2024-01-01&end=2024-02-01&group_by=model');
  expect(data).toEqual([]);
  expect(totals).toMatchObject({ requests: 0, total_spend: 0 });
});

row('aggregate.invalid', async () => {
  const caller = await makeCaller(stack);
  for (const [query, param] of [
    ['start=yesterday', 'start'],
    ['end=2026-13-01', 'end'],
    ['start=2026-01-01T00:30:00Z', 'start'],
    ['group_by=colour', 'group_by'],
  ]) {
    const { status, body } = await caller.get<object>(`/svc/usage?${query}`);
    expect({ query, status, body }).toMatchObject({ query, status: 400, body: { param } });
  }
  for (const query of ['start=2026-02-01&end=2026-01-01', 'start=2024-01-01&end=2026-01-01']) {
    expect((await caller.get(`/svc/usage?${query}`)).status).toBe(400);
  }
});

row('aggregate.own-alone', async () => {
  const { caller } = await aBusyCaller();
  const colleague = await makeCaller(stack, { workspaceId: caller.workspaceId });
  expect((await aggregate(colleague)).totals).toMatchObject({ requests: 0, total_spend: 0 });
});
