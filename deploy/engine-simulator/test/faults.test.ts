import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Chunk, contentOf } from './support/readEvents.ts';
import { postRaw, type RawAnswer } from './support/readRaw.ts';
import { chat, portOf, post, servedRequest, startTestSimulator, type TestSimulator } from './support/testSimulator.ts';

const TEXT = 'Où est 東京? 🚀';
/** Completion tokens of an answer with that text. */
const TOKENS = 7;
const PATH = '/v1/chat/completions';
const USAGE = { stream: true, stream_options: { include_usage: true } };
/** The events of an answer without a fault. */
const ALL = 'text×7 stop usage DONE';

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator([{}, { servedModelNames: ['other-model'] }]);
});
afterAll(() => simulator.close());

const ask = (fault: string, fields: object = {}, isEnough?: (text: string) => boolean) =>
  postRaw(simulator.url + PATH, chat(`[[sim: text="${TEXT}" fault=${fault}]]`, fields), isEnough && { isEnough });

/** The data of a stream's events by the rules of such streams: comments dropped, any line end. */
const dataOf = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice('data: '.length));
const chunksOf = (text: string): Chunk[] =>
  dataOf(text)
    .filter((data) => data.startsWith('{'))
    .map((data) => JSON.parse(data) as Chunk);

/** Names each event of a stream; those that repeat once, with their number. */
function shapeOf(text: string): string {
  const names = dataOf(text).map(nameOf);
  const runs: { name: string; count: number }[] = [];
  for (const name of names) {
    const last = runs.at(-1);
    if (last?.name === name) last.count += 1;
    else runs.push({ name, count: 1 });
  }
  return runs.map(({ name, count }) => (count === 1 ? name : `${name}×${count}`)).join(' ');
}

function nameOf(data: string): string {
  if (data === '[DONE]') return 'DONE';
  let chunk: Partial<Chunk>;
  try {
    chunk = JSON.parse(data) as Partial<Chunk>;
  } catch {
    return 'broken';
  }
  const { error, usage, choices } = chunk;
  if (error) return 'error';
  if (usage) return usage.completion_tokens === TOKENS ? 'usage' : `usage:${usage.completion_tokens}`;
  if (choices === undefined) return 'no-choices';
  const [choice] = choices;
  return choice === undefined ? 'empty-choices' : (choice.finish_reason ?? 'text');
}

const END = 'end';
const RESET = 'ECONNRESET';

describe('a stream with the fault', () => {
  it.each([
    ['close_without_done after=0', '', END],
    ['close_without_done after=4', 'text×5', END],
    ['close_inside_event', 'text×2 broken', END],
    ['close_before_usage', 'text×7 stop', END],
    ['error_event after=0', 'error DONE', END],
    ['error_event after=3', 'text×4 error DONE', END],
    ['error_event after=100', 'text×7 error DONE', END],
    ['abort after=2', 'text×2 abort usage:2 DONE', END],
    ['unknown_finish', 'text×7 overloaded usage DONE', END],
    ['invalid_json', 'text×2 broken text×4 stop usage DONE', END],
    ['missing_choices', 'text×2 no-choices text×5 stop usage DONE', END],
    ['early_empty_choices', 'text×2 empty-choices text×5 stop usage DONE', END],
    ['duplicate_finish', 'text×7 stop×2 usage DONE', END],
    ['huge_event', ALL, END],
    ['no_usage', 'text×7 stop DONE', END],
    ['usage_lower', 'text×7 stop usage:3 DONE', END],
    ['usage_negative', 'text×7 stop usage:-7 DONE', END],
    ['usage_overflow', 'text×7 stop usage:Infinity DONE', END],
    ['split_writes', ALL, END],
    ['split_utf8', ALL, END],
    ['crlf', ALL, END],
    ['comments', ALL, END],
    ['wrong_content_type', ALL, END],
    ['wrong_content_length', ALL, RESET],
    ['trailing_bytes', `${ALL} no-choices`, END],
    ['http_503', '', END],
  ])('%s has the events "%s" and ends with %s', async (fault, shape, ending) => {
    const { text, ending: how } = await ask(fault, USAGE);
    expect([shapeOf(text), how]).toEqual([shape, ending]);
    if (shape === ALL) expect(contentOf(chunksOf(text))).toBe(TEXT);
  });

  it('reset_mid_stream breaks, and is logged with its tokens', async () => {
    const body = chat('[[sim: tokens=50 fault=reset_mid_stream after=5]]', USAGE);
    const response = await post(simulator.url + PATH, body, { 'x-request-id': 'reset' });
    await expect(response.text()).rejects.toThrow();
    expect(await servedRequest(simulator, 'reset')).toMatchObject({ state: 'failed', completionTokens: 5 });
  });

  it('stall goes silent until the client leaves, which counts as an abort', async () => {
    const body = chat('[[sim: tokens=50 fault=stall after=2]]', USAGE);
    const response = await post(simulator.url + PATH, body, { 'x-request-id': 'stall' });
    await servedRequest(simulator, 'stall', ({ completionTokens }) => completionTokens === 2);
    await response.body?.cancel();
    expect(await servedRequest(simulator, 'stall')).toMatchObject({ state: 'aborted', completionTokens: 2 });
  });

  it('never_ending goes on after [DONE] until the client leaves', async () => {
    const { text } = await ask('never_ending', USAGE, (received) => received.includes('[DONE]\n\n\n\n'));
    expect(shapeOf(text)).toBe(ALL);
  });

  it('usage_negative lies on every chunk where every chunk tells it', async () => {
    const options = { include_usage: true, continuous_usage_stats: true };
    const { text } = await ask('usage_negative', { stream: true, stream_options: options });
    expect(chunksOf(text).map(({ usage }) => Math.sign(usage?.completion_tokens ?? 1))).not.toContain(1);
  });

  it.each<[string, (answer: RawAnswer) => boolean]>([
    ['huge_event', ({ text }) => text.length > 1024 * 1024],
    ['split_writes', ({ pieces, text }) => pieces.length > 3 * text.split('\n\n').length],
    ['split_utf8', ({ pieces }) => pieces.some((piece) => piece.toString().endsWith('\uFFFD'))],
    ['joined_events', ({ pieces }) => pieces.length <= 5],
    ['crlf', ({ text }) => !text.replaceAll('\r\n', '').includes('\n')],
    ['comments', ({ text }) => /^: a comment\n\n: another\n: and one inside\ndata: /.test(text)],
    ['wrong_content_type', ({ headers }) => headers['content-type'] === 'text/html'],
    ['wrong_content_length', ({ headers }) => headers['content-length'] !== undefined],
    ['truncated_gzip', ({ headers, pieces }) => headers['content-encoding'] === 'gzip' && !unzips(pieces)],
  ])('%s shows in the bytes', async (fault, isShown) => {
    expect(isShown(await ask(`${fault} itl_ms=1`, USAGE))).toBe(true);
  });
});

describe('a whole answer with the fault', () => {
  it.each([
    ['http_500', 500, /"type":"InternalServerError"/],
    ['http_500_flat', 500, /^\{"object":"error","message":"Internal server error"/],
    ['http_500_empty', 500, /^$/],
    ['http_500_html', 500, /^<html>/],
    ['http_503', 503, /"type":"Service Unavailable"/],
    ['http_429', 429, /"code":429/],
    ['http_404', 404, /"type":"NotFoundError"/],
    ['http_401', 401, /^\{"error":"Unauthorized"\}$/],
    ['http_200_error', 200, /^\{"error":\{.*"code":500\}\}$/],
    ['error_event', 500, /"type":"InternalServerError"/],
    ['no_usage', 200, /"usage":null/],
    ['invalid_json', 200, /^\{"id":/],
    ['missing_choices', 200, /^(?!.*"choices")/],
    ['early_empty_choices', 200, /"choices":\[\]/],
    ['usage_negative', 200, /"completion_tokens":-\d/],
    ['usage_overflow', 200, /"completion_tokens":1e400/],
    ['unknown_finish', 200, /"finish_reason":"overloaded"/],
    ['trailing_bytes', 200, /\}data: \{"trailing":true\}\n\n$/],
    ['huge_event', 200, /^.{1048576}/s],
    ['split_utf8', 200, /"content":"Où est 東京\? 🚀"/],
  ])('%s is a %i', async (fault, status, text) => {
    const answer = await ask(fault);
    expect([answer.status, answer.ending]).toEqual([status, END]);
    expect(answer.text).toMatch(text);
    expect(answer.headers['retry-after']).toBeUndefined();
  });

  it.each(['reset_before_headers', 'reset_mid_stream', 'close_inside_event'])('%s never comes', async (fault) => {
    await expect(ask(fault)).rejects.toThrow(/ECONNRESET|socket hang up/);
  });

  it('wrong_content_length breaks off', async () => {
    expect((await ask('wrong_content_length')).ending).toBe(RESET);
  });

  it('never_ending is followed by a line now and then', async () => {
    const { text } = await ask('never_ending', {}, (received) => /\}\n\n+$/.test(received));
    expect(JSON.parse(text)).toMatchObject({ object: 'chat.completion' });
  });
});

describe('fault rules', () => {
  const setRules = (rules: object[]) => post(`${simulator.adminUrl}/admin/faults`, rules);
  const clearRules = () => fetch(`${simulator.adminUrl}/admin/faults`, { method: 'DELETE' });
  const statusOf = async (url = simulator.url) => (await post(url + PATH, { ...chat('a'), model: null })).status;

  it('strike every Nth request that matches, until they are cleared', async () => {
    await setRules([{ match: { port: portOf(simulator.url), everyNth: 2 }, fault: 'http_503' }]);
    const seen = [await statusOf(), await statusOf(simulator.urls[1]), await statusOf(), await statusOf()];
    expect(seen).toEqual([200, 200, 503, 200]);
    await clearRules();
    expect([await statusOf(), await statusOf()]).toEqual([200, 200]);
  });

  it('are refused when they are not understood', async () => {
    expect((await setRules([{ fault: 'meteor' }])).status).toBe(400);
    expect(await statusOf()).toBe(200);
  });
});

function unzips(pieces: Buffer[]): boolean {
  try {
    return gunzipSync(Buffer.concat(pieces)).length > 0;
  } catch {
    return false;
  }
}
