import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Chunk, contentOf } from './support/readEvents.ts';
import { postRaw, type RawAnswer } from './support/readRaw.ts';
import { chat, startTestSimulator, type TestSimulator } from './support/testSimulator.ts';

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator();
});
afterAll(() => simulator.close());

const TEXT = 'Où est 東京? 🚀 Là-bas, près de la rivière.';
const stream = (fault: string, isEnough?: (text: string) => boolean): Promise<RawAnswer> =>
  postRaw(
    `${simulator.url}/v1/chat/completions`,
    chat(`[[sim: text="${TEXT}" fault=${fault}]]`, { stream: true, stream_options: { include_usage: true } }),
    isEnough && { isEnough },
  );
const eventsOf = (text: string) => text.split('\n\n').filter((event) => event !== '');
/** The chunks of a stream read by the rules of server-sent events: comments dropped, any line end. */
const chunksOf = (text: string): Chunk[] =>
  text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)) as Chunk);
const finishesOf = (chunks: Chunk[]) => chunks.flatMap(({ choices = [] }) => choices[0]?.finish_reason ?? []);
/** Nothing is missing: all of the text, one finish, usage, `[DONE]`. */
function expectWhole(text: string): void {
  const chunks = chunksOf(text);
  expect(contentOf(chunks)).toBe(TEXT);
  expect(finishesOf(chunks)).toEqual(['stop']);
  expect(chunks.at(-1)?.usage?.completion_tokens).toBeGreaterThan(5);
  expect(text).toMatch(/data: \[DONE\]\r?\n/);
}

describe('a stream whose JSON is wrong', () => {
  it('invalid_json has one event that does not parse', async () => {
    const { text, ending } = await stream('invalid_json');
    const broken = eventsOf(text).filter((event) => {
      if (event === 'data: [DONE]') return false;
      try {
        return !JSON.parse(event.slice('data: '.length));
      } catch {
        return true;
      }
    });
    expect([broken.length, ending]).toEqual([1, 'end']);
  });

  it('missing_choices has one event without choices, in the middle', async () => {
    const { text } = await stream('missing_choices');
    const chunks = chunksOf(text);
    expect(chunks.map((chunk) => 'choices' in chunk).indexOf(false)).toBe(2);
    expectWhole(text);
  });

  it('early_empty_choices has one event with no choice, long before usage', async () => {
    const { text } = await stream('early_empty_choices');
    const empty = chunksOf(text).filter(({ choices }) => choices.length === 0);
    expect(empty.map(({ usage }) => usage === undefined)).toEqual([true, false]);
    expectWhole(text);
  });

  it('duplicate_finish says twice how it ended', async () => {
    const { text } = await stream('duplicate_finish');
    expect(finishesOf(chunksOf(text))).toEqual(['stop', 'stop']);
  });

  it('huge_event has one event of more than 1 MiB', async () => {
    const { text } = await stream('huge_event');
    expect(eventsOf(text).filter(({ length }) => length > 1024 * 1024)).toHaveLength(1);
    expectWhole(text);
  });

  it('unknown_finish ends for a reason nobody knows', async () => {
    expect(finishesOf(chunksOf((await stream('unknown_finish')).text))).toEqual(['overloaded']);
  });
});

it('error_event after=0 is the first and only event before [DONE]', async () => {
  const events = eventsOf((await stream('error_event after=0')).text);
  expect(events).toEqual([expect.stringMatching(/^data: \{"error":\{/), 'data: [DONE]']);
});

describe('a stream that tells a wrong usage', () => {
  const usageOf = async (fault: string) => {
    const events = eventsOf((await stream(fault)).text);
    return /"completion_tokens":([^,}]*)/.exec(events.at(-2) ?? '')?.[1];
  };

  it('usage_lower, usage_negative and usage_overflow lie about the completion', async () => {
    const lower = Number(await usageOf('usage_lower'));
    const truth = Number(await usageOf('duplicate_finish'));
    expect(lower).toBe(Math.floor(truth / 2));
    expect(await usageOf('usage_negative')).toBe(`-${truth}`);
    expect(await usageOf('usage_overflow')).toBe('1e400');
  });

  it('lies on every chunk where every chunk tells it', async () => {
    const options = { include_usage: true, continuous_usage_stats: true };
    const body = chat('[[sim: tokens=9 fault=usage_negative]]', { stream: true, stream_options: options });
    const { text } = await postRaw(`${simulator.url}/v1/chat/completions`, body);
    expect(chunksOf(text).map(({ usage }) => Math.sign(usage?.completion_tokens ?? 1))).not.toContain(1);
  });

  it('close_before_usage ends after the finish chunk', async () => {
    const { text, ending } = await stream('close_before_usage');
    const chunks = chunksOf(text);
    expect([finishesOf(chunks), ending]).toEqual([['stop'], 'end']);
    expect(chunks.some(({ usage }) => usage)).toBe(false);
    expect(text).not.toContain('[DONE]');
  });
});

describe('a stream whose bytes arrive in an unusual way', () => {
  it('close_inside_event ends in the middle of one', async () => {
    const { text, ending } = await stream('close_inside_event');
    expect(ending).toBe('end');
    expect(text.endsWith('\n\n')).toBe(false);
    expect(() => JSON.parse(text.slice(text.lastIndexOf('data: ') + 'data: '.length))).toThrow();
  });

  it('split_writes cuts events over many writes', async () => {
    const { text, pieces } = await stream('split_writes');
    expect(pieces.length).toBeGreaterThan(3 * eventsOf(text).length);
    expectWhole(text);
  });

  it('split_utf8 cuts inside characters', async () => {
    const { text, pieces } = await stream('split_utf8');
    const cut = pieces.filter((piece) => piece.toString().endsWith('\uFFFD'));
    expect(cut.length).toBeGreaterThan(0);
    expectWhole(text);
  });

  it('joined_events come in fewer writes than there are events', async () => {
    const content = `[[sim: tokens=24 itl_ms=3 fault=joined_events]]`;
    const body = chat(content, { stream: true });
    const { text, pieces } = await postRaw(`${simulator.url}/v1/chat/completions`, body);
    expect(eventsOf(text).length).toBeGreaterThan(20);
    expect(pieces.length).toBeLessThanOrEqual(5);
  });

  it('crlf ends lines the other way', async () => {
    const { text } = await stream('crlf');
    expect(text.replaceAll('\r\n', '')).not.toContain('\n');
    expectWhole(text);
  });

  it('comments stand between events and inside them', async () => {
    const { text } = await stream('comments');
    expect(text).toMatch(/^: a comment\n\n: another\n: and one inside\ndata: /);
    expectWhole(text);
  });

  it('trailing_bytes follow [DONE]', async () => {
    const { text } = await stream('trailing_bytes');
    expect(text.slice(text.indexOf('[DONE]'))).toBe('[DONE]\n\ndata: {"trailing":true}\n\n');
  });

  it('never_ending goes on after [DONE] until the client leaves', async () => {
    const { text } = await stream('never_ending', (received) => received.endsWith('[DONE]\n\n\n\n'));
    expectWhole(text);
  });

  it('wrong_content_type is no event stream', async () => {
    const { headers, text } = await stream('wrong_content_type');
    expect(headers['content-type']).toBe('text/html');
    expectWhole(text);
  });

  it('wrong_content_length breaks off before what it promised', async () => {
    const { headers, ending } = await stream('wrong_content_length');
    expect(headers['content-length']).toBeDefined();
    expect(ending).toBe('ECONNRESET');
  });

  it('truncated_gzip cannot be unpacked', async () => {
    const { headers, pieces } = await stream('truncated_gzip');
    expect(headers['content-encoding']).toBe('gzip');
    expect(() => gunzipSync(Buffer.concat(pieces))).toThrow();
  });
});

describe('a whole answer', () => {
  const ask = (fault: string) =>
    postRaw(`${simulator.url}/v1/chat/completions`, chat(`[[sim: text="${TEXT}" fault=${fault}]]`));
  const contentIn = (text: string) =>
    (JSON.parse(text) as { choices: { message: { content: string } }[] }).choices[0]?.message.content;

  it.each([
    ['http_500_flat', 500, /^\{"object":"error","message":"Internal server error"/],
    ['http_500_empty', 500, /^$/],
    ['http_500_html', 500, /^<html>/],
    ['http_503', 503, /"type":"Service Unavailable"/],
    ['http_429', 429, /"code":429/],
    ['http_404', 404, /"type":"NotFoundError"/],
    ['http_401', 401, /^\{"error":"Unauthorized"\}$/],
    ['http_200_error', 200, /^\{"error":\{.*"code":500\}\}$/],
    ['invalid_json', 200, /^\{"id":/],
    ['missing_choices', 200, /^(?!.*"choices")/],
    ['early_empty_choices', 200, /"choices":\[\]/],
    ['usage_negative', 200, /"completion_tokens":-\d/],
    ['usage_overflow', 200, /"completion_tokens":1e400/],
    ['unknown_finish', 200, /"finish_reason":"overloaded"/],
    ['trailing_bytes', 200, /\}data: \{"trailing":true\}\n\n$/],
  ])('under %s is a %i', async (fault, status, text) => {
    const answer = await ask(fault);
    expect([answer.status, answer.ending]).toEqual([status, 'end']);
    expect(answer.text).toMatch(text);
    expect(answer.headers['retry-after']).toBeUndefined();
  });

  it.each(['split_writes', 'split_utf8', 'wrong_content_type', 'huge_event', 'duplicate_finish'])(
    'under %s is all there',
    async (fault) => expect(contentIn((await ask(fault)).text)).toBe(TEXT),
  );

  it.each(['reset_before_headers', 'reset_mid_stream', 'close_inside_event'])('under %s never comes', async (fault) => {
    await expect(ask(fault)).rejects.toThrow(/ECONNRESET|socket hang up/);
  });

  it('under never_ending is followed by a line now and then', async () => {
    const body = chat('[[sim: text="x" fault=never_ending]]');
    const url = `${simulator.url}/v1/chat/completions`;
    const { text } = await postRaw(url, body, { isEnough: (received) => received.endsWith('}\n\n') });
    expect(contentIn(text)).toBe('x');
  });

  it('under wrong_content_length breaks off', async () => {
    expect((await ask('wrong_content_length')).ending).toBe('ECONNRESET');
  });
});
