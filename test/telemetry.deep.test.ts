import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { SERVICE_NAMES, type ServiceName } from '@turnpike/config/services';
import { scrapeMetrics } from '@turnpike/test-support/readMetrics';
import { type CollectedSpan, type Collector, startCollector } from '@turnpike/test-support/startCollector';
import { until } from '@turnpike/test-support/until';
import { listRunning } from './support/listRunning.ts';
import { orderEngines, whileHeld } from './support/orderEngines.ts';
import { type JsonPost, postJson } from './support/postJson.ts';
import { readLogLines } from './support/readLogLines.ts';
import { startTestStack, type TestStack } from './support/startTestStack.ts';

const MODEL = 'llama-3.3-70b-instruct';
/** A model with JSON mode and without answers by a schema. */
const MODEL_WITHOUT_SCHEMAS = 'deepseek-r1-0528';
/** No other call of this file goes to it: what routers learn of engines and models begins anew. */
const MODEL_OF_ONE_CONVERSATION = 'llama-3.1-8b-instruct';
const CHAT = 'POST /v1/chat/completions';

/** Kinds of spans in OTLP. */
const [SERVER, CLIENT, CONSUMER] = [2, 3, 5];

let collector: Collector;
let stack: TestStack;
beforeAll(async () => {
  collector = await startCollector();
  const observation = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, TRACE_SAMPLE_RATIO: '1' };
  stack = await startTestStack({ kafka: false, observation });
});
afterAll(async () => {
  await stack?.stop();
  await collector.close();
});

const partOf = (service: ServiceName) => {
  const { services, regions } = stack.running.stack;
  return { ...regions.us.services, ...services }[service];
};
const scrape = (service: ServiceName) => scrapeMetrics(`${partOf(service).internal_url}/metrics`);
const gauge = async (service: ServiceName, name: string) => (await scrape(service)).get(name);

const chat = (
  apiKey: string,
  { content = 'Hello', ...fields }: Record<string, unknown> = {},
  post?: Partial<JsonPost>,
) =>
  postJson(`${stack.baseUrl}/chat/completions`, {
    apiKey,
    body: { model: MODEL, max_tokens: 16, messages: [{ role: 'user', content }], ...fields },
    ...post,
  });

/** Waits until a sample is as it should be; it moves when a call is over, which its client cannot see. */
const untilSample = (service: ServiceName, name: string, isRight: (value: number) => boolean) =>
  until(`${name} of ${service}`, async () => {
    const value = (await gauge(service, name)) ?? 0;
    return isRight(value) ? value : undefined;
  });

/** Returns the growth of each sample since an earlier scrape. */
async function growthSince(earlier: Map<string, number>, service: ServiceName): Promise<(name: string) => number> {
  const now = await scrape(service);
  return (name) => (now.get(name) ?? 0) - (earlier.get(name) ?? 0);
}

const serviceOf = ({ resource }: CollectedSpan) => resource['service.name'];
const findSpan = (what: string, matches: (span: CollectedSpan) => boolean) =>
  until(`the span of ${what}`, async () => collector.spans.find(matches));

it('follows a call through edge, router and engine to the ledger, and adopts no trace of a client', async () => {
  const foreign = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = { traceparent: `00-${foreign}-00f067aa0ba902b7-01`, tracestate: 'vendor=1', baggage: 'user=1' };
  const response = await chat(await stack.operator.makeFundedKey(), { stream: true }, { headers });
  expect(await response.text()).toContain('data: [DONE]');
  const ids = {
    'turnpike.call_id': response.headers.get('x-router-call-id'),
    'turnpike.request_id': response.headers.get('x-request-id'),
  };
  const isOfCall = ({ attributes }: CollectedSpan) => attributes['turnpike.call_id'] === ids['turnpike.call_id'];

  const edge = await findSpan('the edge', (span) => isOfCall(span) && serviceOf(span) === 'edge');
  expect(edge).toMatchObject({ name: CHAT, kind: SERVER, attributes: { ...ids, 'http.response.status_code': 200 } });
  expect(edge.parentSpanId ?? '').toBe('');
  expect(edge.traceId).not.toBe(foreign);

  const router = await findSpan('the router', (span) => isOfCall(span) && serviceOf(span) === 'model-router');
  expect(router).toMatchObject({ name: CHAT, kind: SERVER, traceId: edge.traceId, parentSpanId: edge.spanId });
  expect(router.attributes).toMatchObject({
    ...ids,
    'turnpike.model': MODEL,
    'turnpike.status': 'success',
    'turnpike.reason': 'completed',
    'turnpike.is_stream': true,
  });

  const engine = await findSpan('the engine', ({ parentSpanId }) => parentSpanId === router.spanId);
  expect(engine).toMatchObject({ name: 'engine', kind: CLIENT, traceId: edge.traceId });
  expect(engine.attributes['turnpike.engine']).toBe(router.attributes['turnpike.engine']);

  const batch = await findSpan('the ledger', ({ links }) => links.some(({ spanId }) => spanId === router.spanId));
  expect(batch).toMatchObject({ name: 'record usage', kind: CONSUMER });
  expect(serviceOf(batch)).toBe('usage-ledger');
  expect(batch.links).toContainEqual(expect.objectContaining({ traceId: edge.traceId, spanId: router.spanId }));

  expect(collector.requests.filter(({ text }) => text.includes(foreign))).toEqual([]);
});

it.each(SERVICE_NAMES)('measures the process and the requests of %s', async (service) => {
  await scrape(service);
  const samples = await scrape(service);
  for (const name of [
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'turnpike_event_loop_busy_seconds_total',
    'turnpike_requests_total{route="GET /metrics",status="200",outcome="whole"}',
    'turnpike_request_duration_seconds_count{route="GET /metrics"}',
  ])
    expect([name, samples.get(name)]).toEqual([name, expect.any(Number)]);
});

it('counts a call that succeeds: requests, tokens, time to first token, admission, ledger row', async () => {
  const apiKey = await stack.operator.makeFundedKey();
  await untilSample('usage-ledger', 'turnpike_event_lag_records', (lag) => lag === 0);
  const before = Object.fromEntries(
    await Promise.all(SERVICE_NAMES.map(async (service) => [service, await scrape(service)] as const)),
  ) as Record<ServiceName, Map<string, number>>;

  const response = await chat(apiKey, { stream: true, stream_options: { include_usage: true } });
  const [, json = ''] = /data: (\{.*"usage":\{.*\})\n/.exec(await response.text()) ?? [];
  const { usage } = JSON.parse(json) as { usage: { prompt_tokens: number; completion_tokens: number } };
  await until('the ledger row', async () => {
    const rows = (await growthSince(before['usage-ledger'], 'usage-ledger'))('turnpike_usage_rows_total');
    return rows > 0 ? rows : undefined;
  });

  const edge = await growthSince(before.edge, 'edge');
  expect(edge(`turnpike_requests_total{route="${CHAT}",status="200",outcome="whole"}`)).toBe(1);
  expect(edge(`turnpike_request_duration_seconds_count{route="${CHAT}"}`)).toBe(1);
  const router = await growthSince(before['model-router'], 'model-router');
  expect(router(`turnpike_requests_total{route="${CHAT}",status="200",outcome="whole"}`)).toBe(1);
  expect(router(`turnpike_time_to_first_token_seconds_count{model="${MODEL}"}`)).toBe(1);
  expect(router(`turnpike_time_to_first_token_seconds_sum{model="${MODEL}"}`)).toBeGreaterThan(0.01);
  expect(router(`turnpike_call_duration_seconds_count{model="${MODEL}"}`)).toBe(1);
  expect(router('turnpike_admit_seconds_count')).toBeGreaterThanOrEqual(1);
  expect(router(`turnpike_calls_total{model="${MODEL}",status="success",stream="true"}`)).toBe(1);
  expect(router(`turnpike_tokens_total{model="${MODEL}",kind="prompt"}`)).toBe(usage.prompt_tokens);
  expect(router(`turnpike_tokens_total{model="${MODEL}",kind="completion"}`)).toBe(usage.completion_tokens);
  const auth = await growthSince(before.auth, 'auth');
  expect(auth('turnpike_requests_total{route="POST /internal/keys/verify",status="200",outcome="whole"}')).toBe(1);
  const ledger = await growthSince(before['usage-ledger'], 'usage-ledger');
  expect(ledger('turnpike_usage_rows_total')).toBe(1);
  expect(ledger('turnpike_record_batch_seconds_count')).toBe(1);
  expect(ledger('turnpike_dead_letters_total')).toBe(0);
  await untilSample('usage-ledger', 'turnpike_event_lag_records', (lag) => lag === 0);

  const listed = await fetch(`${stack.baseUrl}/models`, { headers: { authorization: `Bearer ${apiKey}` } });
  expect(listed.status).toBe(200);
  await listed.text();
  const catalog = await growthSince(before.catalog, 'catalog');
  expect(catalog('turnpike_requests_total{route="GET /v1/models",status="200",outcome="whole"}')).toBe(1);
});

it.each([
  {
    status: 401,
    fault: 'invalid_api_key',
    refuse: async () => chat('sk-of-nobody'),
  },
  {
    status: 402,
    fault: 'insufficient_balance',
    refuse: async () => chat(await stack.operator.makeFundedKey({ maxBudgetUsd: '0.000001' })),
  },
  {
    status: 404,
    fault: 'unknown_model',
    refuse: async () => chat(await stack.operator.makeFundedKey(), { model: 'no-such-model' }),
  },
  {
    status: 429,
    fault: 'rate_limited',
    refuse: async () => {
      const apiKey = await stack.operator.makeFundedKey({ rpm: 1 });
      await (await chat(apiKey)).text();
      return chat(apiKey);
    },
  },
])('counts a call refused with $status by its fault, and opens none', async ({ status, fault, refuse }) => {
  const before = { edge: await scrape('edge'), router: await scrape('model-router') };
  const response = await refuse();
  expect(response.status).toBe(status);
  await response.text();
  const requests = `turnpike_requests_total{route="${CHAT}",status="${status}",outcome="whole"}`;
  await untilSample('edge', requests, (count) => count === (before.edge.get(requests) ?? 0) + 1);
  const router = await growthSince(before.router, 'model-router');
  expect(router(requests)).toBe(1);
  expect(router(`turnpike_faults_total{route="${CHAT}",fault="${fault}"}`)).toBe(1);
  const text = [...(await scrape('model-router')).keys()].join('\n');
  expect(text).not.toContain('no-such-model');
  await untilSample('model-router', 'turnpike_open_calls', (calls) => calls === 0);
});

it('shows the open calls while they run, and none when they are over', async () => {
  const apiKey = await stack.operator.makeFundedKey();
  await untilSample('model-router', 'turnpike_open_calls', (calls) => calls === 0);
  const leaving = new AbortController();
  const whole = await whileHeld(stack, async () => {
    const answered = chat(apiKey, { stream: true });
    // Its headers may come before it leaves, an end of it cannot.
    const left = chat(apiKey, { stream: true }, { signal: leaving.signal }).then((response) => response.text());
    await untilSample('model-router', 'turnpike_open_calls', (calls) => calls === 2);
    leaving.abort();
    await expect(left).rejects.toThrow();
    await untilSample('model-router', 'turnpike_open_calls', (calls) => calls === 1);
    return { answered };
  });
  await (await whole.answered).text();
  await untilSample('model-router', 'turnpike_open_calls', (calls) => calls === 0);
});

it('shows what calls were charged, and the credit that is left', async () => {
  // Calls of other tests are recorded by then.
  await untilSample('model-router', 'turnpike_spool_waiting_bytes', (bytes) => bytes === 0);
  const before = await untilSample('usage-ledger', 'turnpike_credit_left_usd', (usd) => usd > 0);
  const apiKey = await stack.operator.makeFundedKey();
  // A key comes with 10 dollars.
  const funded = await untilSample('usage-ledger', 'turnpike_credit_left_usd', (usd) => usd > before + 9);
  const charged = `turnpike_charged_usd_total{model="${MODEL}"}`;
  const chargedBefore = (await gauge('model-router', charged)) ?? 0;
  await (await chat(apiKey)).text();
  const charge = (await untilSample('model-router', charged, (usd) => usd > chargedBefore)) - chargedBefore;
  const left = await untilSample('usage-ledger', 'turnpike_credit_left_usd', (usd) => usd < funded);
  expect(left).toBeCloseTo(funded - charge, 9);
});

it('shows what waits in the spool while the ledger is away, and nothing once it is back', async () => {
  const apiKey = await stack.operator.makeFundedKey();
  await (await chat(apiKey)).text();
  await untilSample('model-router', 'turnpike_spool_waiting_bytes', (bytes) => bytes === 0);
  const { pid } = partOf('usage-ledger');
  process.kill(pid, 'SIGSTOP');
  try {
    await (await chat(apiKey)).text();
    const waiting = await untilSample('model-router', 'turnpike_spool_waiting_bytes', (bytes) => bytes > 0);
    expect(await gauge('model-router', 'turnpike_spool_limit_bytes')).toBeGreaterThan(waiting);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await untilSample('model-router', 'turnpike_spool_waiting_bytes', (bytes) => bytes === 0);
  await untilSample('usage-ledger', 'turnpike_event_lag_records', (lag) => lag === 0);
});

it('writes its log as one JSON object a line, and names the request and the call in what it says of them', async () => {
  const apiKey = await stack.operator.makeFundedKey();
  const broken = { content: 'Hello [[sim: fault=reset_before_headers]]', stream: true };
  const response = await chat(apiKey, broken);
  expect(response.status).toBe(500);
  const ids = {
    callId: response.headers.get('x-router-call-id'),
    requestId: response.headers.get('x-request-id'),
  };
  await response.text();

  const byService = await until('the router’s line of the failed call', async () => {
    const logs = await Promise.all(
      SERVICE_NAMES.map(async (service) => ({ service, lines: await readLogLines(stack.stateDir, service) })),
    );
    const isSaid = logs.some(({ lines }) =>
      lines.some(({ msg, callId }) => msg === 'request failed' && callId === ids.callId),
    );
    return isSaid ? logs : undefined;
  });
  for (const { service, lines } of byService) {
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      expect(line).toMatchObject({
        level: expect.any(String),
        time: expect.any(String),
        service,
        msg: expect.any(String),
      });
      if (line.route !== undefined) expect(line.requestId).toEqual(expect.any(String));
    }
  }
  const ofCall = byService.flatMap(({ lines }) => lines).filter(({ callId }) => callId === ids.callId);
  expect(ofCall.map(({ msg }) => msg)).toEqual(
    expect.arrayContaining(['engine did not answer as it should', 'request failed']),
  );
  for (const line of ofCall) expect(line).toMatchObject(ids);
});

it('says in the trace and in the log that a model without schemas was asked for any JSON object', async () => {
  const response = await chat(await stack.operator.makeFundedKey(), {
    model: MODEL_WITHOUT_SCHEMAS,
    response_format: { type: 'json_schema', json_schema: { name: 'any', schema: { type: 'object' } } },
  });
  expect(response.status).toBe(200);
  const callId = response.headers.get('x-router-call-id');

  const span = await findSpan(
    'the router',
    ({ resource, attributes }) =>
      resource['service.name'] === 'model-router' && attributes['turnpike.call_id'] === callId,
  );
  expect(span.attributes['turnpike.response_format']).toBe('json_object_fallback');
  const lines = await until('the router’s line of the call', async () => {
    const all = await readLogLines(stack.stateDir, 'model-router');
    const ofCall = all.filter((line) => line.callId === callId && line.msg !== 'access');
    return ofCall.length > 0 && ofCall;
  });
  expect(lines).toEqual([
    expect.objectContaining({ level: 'info', model: MODEL_WITHOUT_SCHEMAS, responseFormat: 'json_object_fallback' }),
  ]);
});

/** The spans of a call: the router's own, and those of its attempts in order. */
async function findCall(response: Response) {
  const callId = response.headers.get('x-router-call-id');
  const isRouters = (span: CollectedSpan) =>
    span.attributes['turnpike.call_id'] === callId && serviceOf(span) === 'model-router';
  const router = await findSpan('the router', isRouters);
  await findSpan('the engine', ({ parentSpanId }) => parentSpanId === router.spanId);
  return { router, attempts: collector.spans.filter(({ parentSpanId }) => parentSpanId === router.spanId) };
}

const idsIn = (candidates: unknown): string[] =>
  String(candidates)
    .split(', ')
    .map((candidate) => candidate.split(' ')[0] ?? '');

it('says why a conversation went to its engine, and how much of it that was expected to have and had', async () => {
  const apiKey = await stack.operator.makeFundedKey();
  const model = MODEL_OF_ONE_CONVERSATION;
  const question = { role: 'user', content: `${'What is known of turnpikes? '.repeat(400)} [[sim: text="A lot."]]` };
  const ask = async (messages: object[]) => {
    const response = await chat(apiKey, { model, messages, stream: true });
    expect(await response.text()).toContain('data: [DONE]');
    return findCall(response);
  };
  const before = await scrape('model-router');

  const first = await ask([question]);
  const [cold] = first.attempts;
  expect(first.attempts).toHaveLength(1);
  expect(first.router.attributes).toMatchObject({
    'turnpike.attempts': 1,
    'turnpike.queue_wait_ms': expect.any(Number),
    'turnpike.time_to_first_token_ms': expect.any(Number),
  });
  expect(cold?.attributes).toMatchObject({
    'turnpike.placement': 'rendezvous',
    'turnpike.candidate_count': 2,
    'turnpike.expected_cached_tokens': 0,
    'turnpike.cached_prompt_tokens': 0,
    'turnpike.first_event_ms': expect.any(Number),
  });
  const engine = cold?.attributes['turnpike.engine'];
  const ids = idsIn(cold?.attributes['turnpike.candidates']);
  expect(ids[0]).toBe(engine);
  expect(ids.sort()).toEqual([`engine-1/${model}`, `engine-2/${model}`]);

  const next = { role: 'user', content: 'And what else? [[sim: tokens=12]]' };
  const second = await ask([question, { role: 'assistant', content: 'A lot.' }, next]);
  const warm = second.attempts[0]?.attributes ?? {};
  expect(warm).toMatchObject({ 'turnpike.placement': 'match', 'turnpike.engine': engine });
  const [expected, expectedPrompt, cached, prompt] = [
    'turnpike.expected_cached_tokens',
    'turnpike.expected_prompt_tokens',
    'turnpike.cached_prompt_tokens',
    'turnpike.prompt_tokens',
  ].map((name) => Number(warm[name])) as [number, number, number, number];
  expect(cached).toBeGreaterThan(0.9 * prompt);
  // A token of the router's is a number of bytes, the engine's are its own: equal are the parts of the prompt.
  expect(Math.abs(expected * (prompt / expectedPrompt) - cached) / cached).toBeLessThan(0.05);
  expect(String(warm['turnpike.candidates'])).toContain(`cached=${expected}`);

  const growth = await growthSince(before, 'model-router');
  for (const reason of ['rendezvous', 'match'])
    expect(growth(`turnpike_placements_total{engine="${engine}",reason="${reason}"}`)).toBe(1);
  const errors = (part: 'sum' | 'count') =>
    ['over', 'under']
      .map((direction) =>
        growth(`turnpike_cache_estimate_error_ratio_${part}{model="${model}",direction="${direction}"}`),
      )
      .reduce((sum, value) => sum + value);
  expect(errors('count')).toBe(2);
  expect(errors('sum')).toBeLessThan(0.1);
  expect(growth(`turnpike_engine_first_event_seconds_count{engine="${engine}"}`)).toBe(2);
  expect(growth(`turnpike_output_tokens_per_second_count{model="${model}"}`)).toBe(1);
  expect(growth(`turnpike_output_tokens_per_second_sum{model="${model}"}`)).toBeGreaterThan(0);
});

it('counts the engines that are left out and the calls that go to another when a simulator is killed', async () => {
  const apiKey = await stack.operator.makeFundedKey();
  const { engines, simulator_admin_urls: admins } = stack.running.stack.regions.us;
  const before = await scrape('model-router');
  await orderEngines(stack, 'pause');
  const calls = Array.from({ length: 8 }, (_, index) => chat(apiKey, { content: String(index) }));
  await until('all calls to be on a simulator, some on each', async () => {
    const running = await listRunning(stack);
    return running.every(({ length }) => length > 0) && running.flat().length === 8 ? true : undefined;
  });
  process.kill(engines[0]?.pid ?? 0, 'SIGKILL');
  await fetch(`${admins[1]}/admin/resume`, { method: 'POST' });

  const responses = await Promise.all(calls);
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
  await Promise.all(responses.map((response) => response.text()));
  /** For whatever reason. */
  async function ejectionsOf(engine: string): Promise<number> {
    const prefix = `turnpike_engine_ejections_total{engine="${engine}/${MODEL}",`;
    const samples = [...(await scrape('model-router'))].filter(([name]) => name.startsWith(prefix));
    return samples.reduce((sum, [name, count]) => sum + count - (before.get(name) ?? 0), 0);
  }
  await until('the ejection', async () => (await ejectionsOf('engine-1')) > 0 || undefined);
  const growth = await growthSince(before, 'model-router');
  expect(growth(`turnpike_engine_retries_total{model="${MODEL}"}`)).toBeGreaterThan(0);
  expect(await ejectionsOf('engine-2')).toBe(0);
  const traces = await Promise.all(responses.map(findCall));
  const [retried] = traces.filter(({ router }) => router.attributes['turnpike.attempts'] === 2);
  expect(retried?.attempts).toMatchObject([
    {
      attributes: { 'turnpike.engine': `engine-1/${MODEL}`, 'turnpike.fault': expect.any(String) },
      status: { code: 2 },
    },
    { attributes: { 'turnpike.engine': `engine-2/${MODEL}`, 'turnpike.placement': 'only' } },
  ]);
  await untilSample('model-router', 'turnpike_open_calls', (open) => open === 0);
});
