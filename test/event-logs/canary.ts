import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { generateApiKey } from '@turnpike/api-keys/apiKey';
import { aPng } from '@turnpike/test-support/anImage';
import { until } from '@turnpike/test-support/until';
import { type Evidence, type Found, findTexts } from '../support/evidence/evidence.ts';
import { readAll } from '../support/evidence/readAll.ts';
import { readMetricPages } from '../support/evidence/readMetricPages.ts';
import { postJson, readFirstEvent } from '../support/postJson.ts';
import { collector, stack } from './stack.ts';

const MODEL = 'llama-3.3-70b-instruct';
const SMALL_WINDOW_MODEL = 'smollm2-1.7b-instruct';
const IMAGE_MODEL = 'qwen2.5-vl-7b-instruct';
const EMBEDDING_MODEL = 'bge-m3';

/** Stands in all that a client says and gets: a text of ASCII and one of three bytes a character, both of this run alone. */
const ASCII = `canary${randomBytes(8).toString('hex')}`;
const WIDE = String.fromCodePoint(...Array.from(randomBytes(8), (byte) => 0x4e00 + byte * 64));
const secret = (where: string): string => `${WIDE} ${ASCII} ${where} ${ASCII}${WIDE}`;

/** The random parts of a key, so that one that was cut short is found too. */
const partsOf = (apiKey: string): string[] => [apiKey.slice(3, 23), apiKey.slice(-28, -8)];

export function testCanary({ kafka }: { kafka: boolean }): void {
  let apiKey: string;

  const post = (path: string, body: object | string, key = apiKey, signal?: AbortSignal) =>
    postJson(`${stack.baseUrl}${path}`, { apiKey: key, body, ...(signal && { signal }) });

  /** A chat with a secret in each place where a client can put one. */
  const chat = (content: string, fields: object = {}, key = apiKey, signal?: AbortSignal) =>
    post(
      '/chat/completions',
      {
        model: MODEL,
        max_tokens: 200,
        user: secret('user'),
        metadata: { note: secret('metadata') },
        messages: [
          { role: 'system', content: secret('system') },
          { role: 'user', name: ASCII, content: secret('earlier') },
          { role: 'assistant', tool_calls: [toolCall(JSON.stringify({ city: secret('arguments') }))] },
          { role: 'tool', tool_call_id: 'call_1', content: secret('tool result') },
          { role: 'user', content: `${secret('question')} ${content}` },
        ],
        ...fields,
      },
      key,
      signal,
    );
  const tools = [{ type: 'function', function: { name: 'weather', description: secret('tool'), parameters: {} } }];

  /** Reads an answer to its end and checks that it came as it was to come. */
  async function ended(response: Promise<Response>, status: number): Promise<{ callId: string; text: string }> {
    const answer = await response;
    const text = await answer.text();
    if (answer.status !== status) throw new Error(`answered ${answer.status} in place of ${status}: ${text}`);
    return { callId: answer.headers.get('x-router-call-id') ?? '', text };
  }

  const untilRecorded = (callId: string) =>
    until(`the row of ${callId}`, async () => {
      const headers = { authorization: `Bearer ${apiKey}` };
      const response = await fetch(`${stack.baseUrl}/svc/usage/request/${callId}`, { headers });
      const body = (await response.json()) as { status: string };
      return response.status === 200 ? body.status : undefined;
    });

  /** Everything kept and handed out: the metrics as they were given, the traces so far, and the whole of the stack. */
  async function* evidenceWith(metrics: Evidence[]): AsyncGenerator<Evidence> {
    yield* metrics;
    yield* collector.requests.map(({ text }) => ({ place: 'traces', bytes: Buffer.from(text) }));
    yield* readAll(stack, 'us');
  }

  async function answerWell(): Promise<string> {
    const words = secret('completion');
    const whole = await ended(chat(`[[sim: text="${words}"]]`), 200);
    expect(whole.text).toContain(words);
    const streamed = await ended(chat(`[[sim: text="${words}"]]`, { stream: true }), 200);
    expect(streamed.text).toContain('data: [DONE]');
    const args = JSON.stringify({ city: ASCII }).replaceAll('"', '\\"');
    const called = await ended(chat(`[[sim: tool_call=weather tool_arguments="${args}"]]`, { tools }), 200);
    expect(called.text).toContain(ASCII);
    await ended(post('/completions', { model: MODEL, prompt: secret('prompt'), max_tokens: 8 }), 200);
    await ended(post('/embeddings', { model: EMBEDDING_MODEL, input: [secret('input')] }), 200);
    const image = `data:image/png;base64,${aPng({ comment: secret('image') }).toString('base64')}`;
    await ended(chat('', { model: IMAGE_MODEL, messages: [showing(image)] }), 200);
    return whole.callId;
  }

  async function fail(): Promise<void> {
    const reset = await ended(chat('[[sim: tokens=50 fault=reset_mid_stream after=5]]', { stream: true }), 200);
    expect(reset.text).not.toContain('[DONE]');
    expect(await untilRecorded(reset.callId)).toBe('failure');
    await ended(chat('[[sim: fault=invalid_json tokens=50]]', { stream: true }), 200);
    await ended(chat('[[sim: fault=invalid_json]]'), 500);
    await ended(chat('[[sim: fault=http_500]]'), 500);
    await ended(chat('[[sim: fault=reset_before_headers]]'), 500);
    await ended(chat('[[sim: fault=no_usage]]'), 500);
  }

  async function beRefused(): Promise<void> {
    await ended(chat('', { temperature: secret('temperature') }), 400);
    await ended(chat('', { [ASCII]: 1, response_format: secret('format') }), 400);
    await ended(post('/chat/completions', `{"messages": "${secret('torn')}`), 400);
    await ended(chat('', {}, await stack.operator.makeFundedKey({ maxBudgetUsd: '0.0000001' })), 402);
    await ended(chat('', { model: secret('model') }), 404);
    await ended(post(`/${ASCII}`, secret('no path')), 404);
    const headers = { authorization: `Bearer ${apiKey}` };
    for (const path of ['models', 'svc/usage/request'])
      await ended(fetch(`${stack.baseUrl}/${path}/${encodeURIComponent(secret('id'))}`, { headers }), 404);

    const schema = await ended(chat(`[[sim: fault=${ASCII}]]`), 400);
    expect(schema.text).toContain(ASCII);
    expect((await ended(chat(`[[sim: fault=${ASCII}]]`, { stream: true }), 400)).text).toContain(ASCII);
    const long = { model: SMALL_WINDOW_MODEL, messages: [{ role: 'user', content: secret('long ').repeat(2_000) }] };
    expect((await ended(chat('', long), 400)).text).toContain('context_length_exceeded');
    await ended(chat('', { model: IMAGE_MODEL, messages: [showing(`http://127.0.0.1:1/${ASCII}.png`)] }), 400);
  }

  async function leaveEarly(): Promise<void> {
    const leaving = new AbortController();
    const response = await chat('[[sim: tokens=150 itl_ms=50]]', { stream: true }, apiKey, leaving.signal);
    await readFirstEvent(response);
    leaving.abort();
    expect(await untilRecorded(response.headers.get('x-router-call-id') ?? '')).toBe('success');
  }

  /** Keys that are wrong in the ways people get them wrong. */
  async function mistype(): Promise<string[]> {
    const [wrongEnd, short, long] = [generateApiKey(), generateApiKey(), generateApiKey()];
    const keys = [
      generateApiKey(),
      wrongEnd.replace(/.$/, (end) => (end === 'x' ? 'y' : 'x')),
      short.slice(0, -3),
      `${long}${ASCII}`,
    ];
    for (const key of keys) {
      await ended(chat('', {}, key), 401);
      await ended(fetch(`${stack.baseUrl}/models`, { headers: { authorization: `Bearer ${key}` } }), 401);
      await ended(fetch(`${stack.baseUrl}/svc/key`, { headers: { authorization: key } }), 401);
    }
    return keys;
  }

  it('is nowhere in logs, traces, metrics, databases, Redis, spool and topics, though the ids of calls are', async () => {
    apiKey = await stack.operator.makeFundedKey();
    const callId = await answerWell();
    await fail();
    await beRefused();
    await leaveEarly();
    const mistyped = await mistype();
    await until('the trace of the first call', async () =>
      collector.requests.some(({ text }) => text.includes(callId)) ? true : undefined,
    );
    const metrics = await readMetricPages(stack.running.stack.regions.us.services);

    const cut = await chat('[[sim: tokens=150 itl_ms=50]]', { stream: true });
    const cutCallId = cut.headers.get('x-router-call-id') ?? '';
    await readFirstEvent(cut);
    process.kill(stack.running.stack.regions.us.services['model-router'].pid, 'SIGKILL');
    // The text is not read, because a body that was partly read has none.
    await expect(Array.fromAsync(cut.body ?? [])).rejects.toThrow();
    await ended(chat(''), 503);

    const secrets = [ASCII, WIDE, ...[apiKey, ...mistyped].flatMap(partsOf)];
    const found = await findTexts(evidenceWith(metrics), [...secrets, callId, cutCallId, MODEL, 'Test key']);
    expect(
      secrets.flatMap((text) => (found.get(text) ?? ['not looked for']).map((place) => ({ text, place }))),
    ).toEqual([]);

    // A search that finds nothing proves something only if it finds what is there.
    const folder = kafka ? 'data-kafka' : 'data-embedded';
    expectPlaces(found, callId, [
      /^traces$/,
      kafka ? /^topic usage\.recorded/ : /^table ledger public\.event_log_record$/,
      /^table ledger public\.usage_request/,
      new RegExp(`^file ${folder}/spool/`),
      new RegExp(`^file ${folder}/redis/appendonlydir/`),
    ]);
    expectPlaces(found, cutCallId, [/^redis .*:call:/]);
    expectPlaces(found, MODEL, [/^metrics model-router$/, /^table catalog /, /^file logs\/model-router\.log$/]);
    expectPlaces(found, 'Test key', [/^table auth public\.api_key$/, new RegExp(`^file ${folder}/postgres/pg_wal/`)]);
  });
}

const toolCall = (args: string) => ({ id: 'call_1', type: 'function', function: { name: 'weather', arguments: args } });

const showing = (url: string) => ({
  role: 'user',
  content: [
    { type: 'text', text: secret('about an image') },
    { type: 'image_url', image_url: { url } },
  ],
});

function expectPlaces(found: Found, text: string, places: RegExp[]): void {
  const missing = places.filter((place) => !found.get(text)?.some((it) => place.test(it)));
  expect({ text, missing }).toEqual({ text, missing: [] });
}
