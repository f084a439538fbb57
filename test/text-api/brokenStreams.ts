import { describe, expect, it } from '@jest/globals';
import { expectUnbilled } from '../support/expectBilled.ts';
import { setKnobs } from '../support/setKnobs.ts';
import { splitEvents } from '../support/splitEvents.ts';
import { caller, stack } from './plainStack.ts';

const MODEL = 'llama-3.3-70b-instruct';
const THINKING_MODEL = 'deepseek-r1-0528';

/** A chat streamed from an engine that does as the directives say; the events as the client got them. */
async function streamed(directives: string, fields: object = {}) {
  const response = await caller.post('/chat/completions', {
    model: MODEL,
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: `Où ? [[sim: ttft_ms=0 itl_ms=0 ${directives}]]` }],
    ...fields,
  });
  const text = await response.text();
  return { response, text, events: response.status === 200 ? splitEvents(text) : [] };
}
const textOf = (events: string[]): string =>
  events.map((event) => JSON.parse(event).choices[0]?.delta.content ?? '').join('');

describe('a stream whose engine', () => {
  it.each([
    'reset_mid_stream',
    'close_without_done',
    'close_inside_event',
    'close_before_usage',
    'error_event',
    'abort',
    'invalid_json',
    'missing_choices',
    'usage_negative',
    'usage_overflow',
  ])('fails by %s ends in one error event, never in [DONE], and costs nothing', async (fault) => {
    const { response, text, events } = await streamed(`tokens=20 fault=${fault} after=5`);

    expect([200, 500]).toContain(response.status);
    if (response.status === 200) expect(text).not.toContain('[DONE]');
    expect(JSON.parse(events.at(-1) ?? text)).toEqual({
      error: { message: expect.any(String), type: 'server_error', param: null, code: 'internal_error' },
    });
    if (response.status === 500) expect(response.headers.get('x-should-retry')).toBe('false');
    await expectUnbilled(caller, response.headers);
  });

  it('counts nothing ends in an error event, and costs nothing', async () => {
    const { response, text, events } = await streamed('tokens=20 fault=no_usage');

    expect(text).not.toContain('[DONE]');
    expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ error: { type: 'server_error' } });
    expect(await caller.untilUsage(response.headers)).toMatchObject({ status: 'unknown', total_spend: 0 });
  });

  it.each([
    'split_writes',
    'split_utf8',
    'joined_events',
    'crlf',
    'comments',
    'huge_event',
    'never_ending',
    'trailing_bytes',
    'early_empty_choices',
    'duplicate_finish',
    'unknown_finish',
  ])('is merely odd (%s) is whole, with one finish reason, and billed', async (fault) => {
    const { response, events } = await streamed(`tokens=20 fault=${fault} after=5`);

    expect(response.status).toBe(200);
    expect(events.pop()).toBe('[DONE]');
    const usage = JSON.parse(events.at(-1) ?? '');
    expect(usage).toMatchObject({ choices: [], usage: { completion_tokens: 20 } });
    expect(textOf(events)).not.toBe('');
    const chunks = events.map((event) => JSON.parse(event));
    expect(chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(['stop']);
    expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
    expect(await caller.untilUsage(response.headers)).toMatchObject({ status: 'success', completion_tokens: 20 });
  });
});

it.each(['reasoning', 'reasoning_content', 'both'])(
  'the reasoning of an engine that calls it %s comes under both names, whole and streamed',
  async (reasoningField) => {
    await setKnobs(stack, { reasoningField });
    try {
      const directives = 'tokens=30 reasoning="Let me think: 天気 « où »."';
      const { events } = await streamed(directives, { model: THINKING_MODEL });
      const whole = await caller.post('/chat/completions', {
        model: THINKING_MODEL,
        messages: [{ role: 'user', content: `[[sim: ttft_ms=0 itl_ms=0 ${directives}]]` }],
      });
      const { choices } = (await whole.json()) as { choices: { message: Record<string, string> }[] };

      const deltas = events.slice(0, -1).map((event) => JSON.parse(event).choices[0]?.delta ?? {});
      for (const name of ['reasoning', 'reasoning_content']) {
        expect(deltas.map((delta) => delta[name] ?? '').join('')).toBe('Let me think: 天気 « où ».');
        expect(choices[0]?.message[name]).toBe('Let me think: 天気 « où ».');
      }
    } finally {
      await setKnobs(stack, { reasoningField: 'reasoning' });
    }
  },
);
