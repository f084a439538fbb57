import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock } from '../src/engine/clock.ts';
import { chat, MODEL, post, startTestSimulator, type TestSimulator } from './support/testSimulator.ts';

const clock = { ...systemClock, unixMs: () => 1_790_000_000_000 };

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator(
    [{}, { reasoningField: 'both' }, { queueCap: 0 }, { task: 'embed', embeddingDimensions: 4 }],
    { clock },
  );
});
afterAll(() => simulator.close());

const CURRENT = 0;
const BOTH = 1;
const FULL = 2;
const EMBEDDER = 3;

const content = 'Tell me about the sea. [[sim: tokens=24 reasoning="let me think"]]';
const short = '[[sim: reasoning="let me think" text="Voilà, 世界 🚀"]]';
const streamUsage = { stream: true, stream_options: { include_usage: true } };
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = ['weather', 'news'].map((name) => ({ type: 'function', function: { name, parameters } }));
const twoCalls = '[[sim: tool_call=weather tool_arguments="{\\"city\\":\\"Zürich\\"}" tool_call=news]]';
const chatPath = '/v1/chat/completions';
const image = [{ type: 'image_url', image_url: { url: 'https://example.com/x.png' } }];

/**
 * The bytes of an answer, kept beside this test so that a change of the wire format is seen and meant. To accept one,
 * run this test with `UPDATE_GOLDEN=1` and review the difference.
 */
describe('golden transcripts', () => {
  it.each<[string, number, string, object]>([
    ['stream.txt', CURRENT, chatPath, chat(content, streamUsage)],
    [
      'continuousUsage.txt',
      CURRENT,
      chatPath,
      chat(content, { stream: true, stream_options: { include_usage: true, continuous_usage_stats: true } }),
    ],
    ['whole.json', CURRENT, chatPath, chat(content)],
    ['toolCallsStream.txt', CURRENT, chatPath, chat(twoCalls, { tools, ...streamUsage })],
    ['toolCallsWhole.json', CURRENT, chatPath, chat(twoCalls, { tools })],
    ['errorEvent.txt', CURRENT, chatPath, chat('[[sim: tokens=9 fault=error_event after=2]]', streamUsage)],
    ['unknownModel.json', CURRENT, chatPath, chat('x', { model: 'nope' })],
    ['contextExceeded.json', CURRENT, chatPath, chat('x', { max_tokens: 8_192 })],
    ['imageNotFetched.json', CURRENT, chatPath, chat(image)],
    ['bothReasoningWhole.json', BOTH, chatPath, chat(short)],
    ['queueFull.json', FULL, chatPath, chat('x')],
    ['completionStream.txt', CURRENT, '/v1/completions', { model: MODEL, prompt: '[[sim: tokens=6]]', ...streamUsage }],
    ['completionWhole.json', CURRENT, '/v1/completions', { model: MODEL, prompt: '[[sim: tokens=6]]' }],
    ['embeddingFloat.json', EMBEDDER, '/v1/embeddings', { model: MODEL, input: ['river', 'lake'] }],
    ['embeddingBase64.json', EMBEDDER, '/v1/embeddings', { model: MODEL, input: 'river', encoding_format: 'base64' }],
    ['notTheTask.json', EMBEDDER, chatPath, chat('x')],
  ])('%s', async (name, engine, path, body) => {
    const headers = { 'x-request-id': 'golden' };
    const salted = { seed: 1, cache_salt: name, ...body };
    await expectGolden(name, await post((simulator.urls[engine] ?? '') + path, salted, headers));
  });

  it('metrics.txt, of an engine that has done nothing', async () => {
    const idle = await startTestSimulator([{ servedModelNames: ['idle'] }], { clock });
    await expectGolden('metrics.txt', await fetch(`${idle.url}/metrics`));
    await idle.close();
  });
});

async function expectGolden(name: string, response: Response): Promise<void> {
  const head = [...response.headers].filter(([header]) => header !== 'date').map((pair) => pair.join(': '));
  const transcript = `${response.status}\n${head.join('\n')}\n\n${await response.text()}\n`;
  const file = new URL(`golden/${name}`, import.meta.url);
  if (process.env.UPDATE_GOLDEN === '1') await writeFile(file, transcript);
  expect(transcript).toBe(await readFile(file, 'utf8'));
}
