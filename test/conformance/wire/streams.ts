import { expect } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { openaiClient } from '../../clients/npm/openaiClient.ts';
import { SLOW_ANSWER, streamSlowly } from '../../clients/streamSlowly.ts';
import { expectBilled, expectUnbilled, type SeenUsage } from '../../support/expectBilled.ts';
import { findServed } from '../../support/findServed.ts';
import { makeAccount } from '../../support/makeAccount.ts';
import { whileHeld } from '../../support/orderEngines.ts';
import { readFirstEvent } from '../../support/postJson.ts';
import { splitEvents } from '../../support/splitEvents.ts';
import type { Answer } from '../support/http.ts';
import { row } from '../support/row.ts';
import { setEngines } from '../support/setEngines.ts';
import { envelope, invalid, wrapped } from '../support/shapes.ts';
import { TOOL_CALLS, TOOLS, toolArgumentsSchema } from '../support/tools.ts';
import { client, stack } from '../support/wireStack.ts';

const MODEL = 'llama-3.3-70b-instruct';
const OTHER_MODEL = 'llama-3.1-8b-instruct';
const KEEP_ALIVE = ': keep-alive\n';

interface Delta {
  role?: string;
  content?: string;
  reasoning?: string;
  tool_calls?: { index: number; id?: string; function: Partial<ToolCall> }[];
}
interface Chunk {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: { delta: Delta; finish_reason: string | null }[];
  usage?: SeenUsage;
}

interface Whole {
  choices: { message: { content: string; reasoning?: string; tool_calls?: { id: string; function: ToolCall }[] } }[];
  usage: SeenUsage;
}
interface ToolCall {
  name: string;
  arguments: string;
}

const aChat = (directives: string, fields: object = {}) => ({
  model: MODEL,
  messages: [{ role: 'user', content: `hi [[sim: ${directives}]]` }],
  stream: true,
  ...fields,
});
const stream = (directives: string, fields: object = {}): Promise<Answer> =>
  client.post('/chat/completions', aChat(`ttft_ms=0 itl_ms=0 ${directives}`, fields));

/** A stream of a client of its own. */
async function ownStream(directives: string, fields: object = {}) {
  const account = await makeAccount(stack);
  const response = await account.post('/chat/completions', aChat(`ttft_ms=0 itl_ms=0 ${directives}`, fields));
  return { account, status: response.status, headers: response.headers, text: await response.text() };
}
/** A whole answer of a client of its own. */
async function ownAnswer(directives: string, fields: object = {}): Promise<Whole> {
  return JSON.parse((await ownStream(directives, { ...fields, stream: false })).text);
}

type SeenStream = Pick<Answer, 'status' | 'text'>;

/** Returns the chunks of a whole stream, without comments and the last `[DONE]`. */
function chunksOf({ text }: SeenStream): Chunk[] {
  const events = splitEvents(text.replaceAll(KEEP_ALIVE, ''));
  expect(events.pop()).toBe('[DONE]');
  return events.map((event) => JSON.parse(event));
}

/** Asserts that a stream ended in one error event, and gives its envelope. */
function errorEventOf({ status, text }: SeenStream): unknown {
  expect(status).toBe(200);
  const events = splitEvents(text.replaceAll(KEEP_ALIVE, ''));
  expect(events.slice(0, -1).filter((event) => event.includes('"error"'))).toEqual([]);
  expect(text).not.toContain('[DONE]');
  return JSON.parse(events.at(-1) ?? '');
}
const anErrorEvent = () => ({ error: expect.objectContaining({ message: expect.any(String), type: 'server_error' }) });
const contentOf = (chunks: Chunk[]) => chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');

row('stream.headers', async () => {
  const { status, headers } = await stream('tokens=3');
  expect(status).toBe(200);
  expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
  expect(headers.get('cache-control')).toBe('no-cache, no-transform');
  expect(headers.get('x-accel-buffering')).toBe('no');
});

row('stream.not-compressed', async () => {
  const accept = { headers: { 'accept-encoding': 'gzip, br, zstd' } };
  const streamed = await client.post('/chat/completions', aChat('tokens=200 itl_ms=0'), accept);
  const whole = await client.post('/chat/completions', aChat('tokens=200 itl_ms=0', { stream: false }), accept);
  const listed = await client.get('/models', accept);
  expect([streamed, whole, listed].map(({ headers }) => headers.get('content-encoding'))).toEqual([null, null, null]);
});

row('stream.events', async () => {
  expect(chunksOf(await stream('tokens=5')).length).toBeGreaterThan(1);
});

row('stream.chunks', async () => {
  const chunks = chunksOf(await stream('tokens=5', { model: 'llama-3.3-70b' }));
  const identities = new Set(
    chunks.map(({ id, object, created, model }) => JSON.stringify({ id, object, created, model })),
  );
  expect([...identities].map((text) => JSON.parse(text))).toEqual([
    { id: expect.stringMatching(/./), object: 'chat.completion.chunk', created: expect.any(Number), model: MODEL },
  ]);
});

row('stream.choices', async () => {
  const chunks = chunksOf(await stream('tokens=5'));
  expect(chunks[0]?.choices[0]?.delta).toMatchObject({ role: 'assistant' });
  expect(chunks.every(({ choices }) => choices.length === 1)).toBe(true);
  expect(chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(['stop']);
});

row('stream.same-as-whole', async () => {
  const whole = await stream('tokens=60', { stream: false, seed: 3 });
  const { choices } = whole.body as { choices: { message: { content: string } }[] };
  expect(contentOf(chunksOf(await stream('tokens=60', { seed: 3 })))).toBe(choices[0]?.message.content);
});

row('stream.usage.asked', async () => {
  const chunks = chunksOf(await stream('tokens=5', { stream_options: { include_usage: true } }));
  const last = chunks.pop();
  expect(last).toMatchObject({ choices: [], usage: { completion_tokens: 5, prompt_tokens: expect.any(Number) } });
  expect(chunks.filter(({ choices, usage }) => choices.length === 0 || (usage ?? null) !== null)).toEqual([]);
});

row('stream.usage.not-asked', async () => {
  for (const fields of [{}, { stream_options: { include_usage: false } }, { stream_options: null }]) {
    const chunks = chunksOf(await stream('tokens=5', fields));
    expect(chunks.filter((chunk) => 'usage' in chunk || chunk.choices.length === 0)).toEqual([]);
  }
});

row('stream.not-buffered', async () => {
  const leaving = new AbortController();
  const asked = aChat('ttft_ms=0 tokens=500 fault=stall after=3');
  const response = await client.open('/chat/completions', asked, leaving.signal);
  await readFirstEvent(response);
  expect((await findServed(stack, response.headers))?.state).toBe('running');
  leaving.abort();
});

row('stream.not-capped', async () => {
  const fields = { max_tokens: 2500, stream_options: { include_usage: true } };
  const chunks = chunksOf(await stream('tokens=2500', fields));
  expect(chunks.at(-1)?.usage?.completion_tokens).toBe(2500);
});

/** Returns the engine's refusal of a stream. One whose headers had to go before it, on a busy machine, is asked for again. */
const untilRefused = (directives: string, fields?: object): Promise<Answer> =>
  until('a refusal before the headers have to go', async () => {
    const answer = await stream(directives, fields);
    if (answer.status !== 200) return answer;
    expect(errorEventOf(answer)).toMatchObject({ error: { type: 'invalid_request_error' } });
    return undefined;
  });

row('stream.refusal', async () => {
  const unknown = await stream('', { model: 'no-such-model' });
  expect(unknown).toMatchObject({ status: 404, body: wrapped(404, 'unknown_model') });
  const refused = await untilRefused('no-such-directive');
  expect(refused).toMatchObject({ status: 400, body: { error: { type: 'invalid_request_error' } } });
  expect(refused.headers.get('content-type')).toMatch(/^application\/json/);
});

/** Opens a stream whose engine is held back until what has come is enough, and reads it to its end. */
async function openHeld(asked: object, isEnough: (text: string) => boolean): Promise<SeenStream> {
  const decoder = new TextDecoder();
  let text = '';
  const { status, body } = await whileHeld(stack, async () => {
    const response = await client.open('/chat/completions', asked);
    const reader = response.body?.getReader();
    while (!isEnough(text)) text += decoder.decode((await reader?.read())?.value, { stream: true });
    reader?.releaseLock();
    return response;
  });
  for await (const bytes of body ?? []) text += decoder.decode(bytes, { stream: true });
  return { status, text };
}

row('stream.keep-alive', async () => {
  const answer = await openHeld(aChat('tokens=5'), (text) => text.split(KEEP_ALIVE).length > 2);
  expect(answer.text.startsWith(KEEP_ALIVE)).toBe(true);
  expect(answer.text.split(KEEP_ALIVE).length).toBeGreaterThan(2);
  expect(chunksOf(answer).flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(['stop']);
});

row('stream.keep-alive.clients', async () => {
  expect(await streamSlowly(openaiClient, stack)).toEqual(SLOW_ANSWER);
});

row('stream.late-refusal', async () => {
  const asked = aChat('ttft_ms=0 itl_ms=0 no_tool_call', { tools: TOOLS, tool_choice: 'required' });
  // Its headers are here, with their status.
  expect(errorEventOf(await openHeld(asked, () => true))).toEqual(invalid('tool_choice'));
});

row('stream.error-event', async () => {
  const faults = [
    ...['reset_mid_stream', 'close_without_done', 'close_inside_event', 'close_before_usage', 'error_event', 'abort'],
    ...['invalid_json', 'missing_choices', 'usage_negative', 'usage_overflow'],
  ];
  await Promise.all(
    faults.map(async (fault) => {
      const asked = { stream_options: { include_usage: true } };
      const { account, headers, ...answer } = await ownStream(`tokens=50 fault=${fault} after=5`, asked);
      // This one's first event is spoilt already: a 500, unless the headers had to go before it.
      const isRefused = fault === 'usage_overflow' && answer.status === 500;
      if (isRefused) expect(headers.get('x-should-retry')).toBe('false');
      const failure = isRefused ? JSON.parse(answer.text) : errorEventOf(answer);
      expect({ fault, failure }).toEqual({ fault, failure: envelope('server_error', 'internal_error') });
      await expectUnbilled(account, headers);
    }),
  );
});

row('stream.odd-engine', async () => {
  const oddities = [
    ...['split_writes', 'split_utf8', 'joined_events', 'crlf', 'comments', 'huge_event', 'never_ending'],
    ...['trailing_bytes', 'early_empty_choices', 'duplicate_finish', 'unknown_finish'],
  ];
  await Promise.all(
    oddities.map(async (fault) => {
      const asked = { stream_options: { include_usage: true } };
      const { account, headers, ...answer } = await ownStream(`tokens=20 fault=${fault} after=5`, asked);
      expect({ fault, status: answer.status }).toEqual({ fault, status: 200 });
      const chunks = chunksOf(answer);
      expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 20 } });
      expect(contentOf(chunks)).not.toBe('');
      expect(chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(['stop']);
      expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
      expect(await account.untilUsage(headers)).toMatchObject({ status: 'success', completion_tokens: 20 });
    }),
  );
});

row('stream.stall', async () => {
  expect(errorEventOf(await stream('tokens=50 fault=stall after=5'))).toEqual(anErrorEvent());
});

row('stream.retry', async () => {
  await setEngines(stack, OTHER_MODEL, { state: 'cutting', simulators: 1 });
  // The beginning of a prompt decides its engine, so some of these go to the engine that cuts.
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      client.post('/chat/completions', {
        model: OTHER_MODEL,
        messages: [{ role: 'user', content: `${index} ${'beginning '.repeat(40)}[[sim: tokens=3]]` }],
        stream: true,
      }),
    ),
  );
  await setEngines(stack, OTHER_MODEL, { state: 'serving' });
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  for (const answer of answers) chunksOf(answer);
});

row('stream.no-retry-after-first-event', async () => {
  const answer = await stream('tokens=50 fault=reset_mid_stream after=5');
  const callId = answer.headers.get('x-router-call-id');
  const second = new Headers({ 'x-router-call-id': `${callId}-2` });
  await until('the engine to have failed', async () =>
    (await findServed(stack, answer.headers))?.state === 'failed' ? true : undefined,
  );
  expect(await findServed(stack, second)).toBeUndefined();
});

row('stream.reasoning', async () => {
  for (const model of ['deepseek-r1-0528', 'qwen3-32b']) {
    const [directives, asked] = ['tokens=40 reasoning="Let me think: 天気 « où »."', { model }];
    const { choices } = await ownAnswer(directives, asked);
    const { account, headers, ...answer } = await ownStream(directives, {
      ...asked,
      stream_options: { include_usage: true },
    });
    const chunks = chunksOf(answer);
    const deltas = chunks.flatMap(({ choices: [choice] }) => choice?.delta ?? []);
    expect(deltas.map((delta) => delta.reasoning ?? '').join('')).toBe(choices[0]?.message.reasoning);
    expect(contentOf(chunks)).toBe(choices[0]?.message.content);
    const firstSaid = deltas.findIndex((delta) => (delta.content ?? '') !== '');
    expect(deltas.findLastIndex((delta) => (delta.reasoning ?? '') !== '')).toBeLessThan(firstSaid);
    await expectBilled(account, { headers, model, usage: chunks.at(-1)?.usage });
  }
});

row('stream.tool-calls', async () => {
  await Promise.all(
    TOOL_CALLS.map(async ({ directives, fields, names }) => {
      const whole = await ownAnswer(directives, fields);
      const { account, headers, ...answer } = await ownStream(directives, fields);
      const chunks = chunksOf(answer);
      expect(chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(['tool_calls']);
      const pieces = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
      expect(pieces.length).toBeGreaterThan(2 * names.length);
      const calls = names.map((_, index) => pieces.filter((piece) => piece.index === index));
      expect(calls.flat()).toHaveLength(pieces.length);
      for (const [index, call] of calls.entries()) {
        expect(call[0]).toMatchObject({ type: 'function', function: { name: names[index] } });
        expect(call.flatMap(({ id }) => id ?? [])).toEqual([expect.stringMatching(/./)]);
        expect(call.flatMap((piece) => piece.function.name ?? [])).toEqual([names[index]]);
      }
      const joined = calls.map((call, index) => ({
        name: names[index],
        arguments: call.map((piece) => piece.function.arguments ?? '').join(''),
      }));
      expect(joined).toEqual(whole.choices[0]?.message.tool_calls?.map((call) => call.function));
      for (const call of joined) toolArgumentsSchema.parse(JSON.parse(call.arguments));
      await expectBilled(account, { headers, model: MODEL, usage: whole.usage });
    }),
  );
});

row('stream.forced-tool-missing', async () => {
  const { status, body } = await untilRefused('no_tool_call', { tools: TOOLS, tool_choice: 'required' });
  expect({ status, body }).toEqual({ status: 400, body: invalid('tool_choice') });
});

row('stream.client-leaves', async () => {
  const leaving = new AbortController();
  const response = await client.open('/chat/completions', aChat('tokens=4000 itl_ms=10'), leaving.signal);
  await readFirstEvent(response);
  leaving.abort();
  await until('the engine to stop', async () =>
    (await findServed(stack, response.headers))?.state === 'aborted' ? true : undefined,
  );
});
