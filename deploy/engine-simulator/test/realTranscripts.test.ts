import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestSimulator, type TestSimulator } from './support/testSimulator.ts';
import { parseTranscript, shapeOf } from './support/transcript.ts';

const FOLDER = new URL('vllm-0.32.0/', import.meta.url);
const NAMES = readdirSync(FOLDER).filter((name) => name.endsWith('.txt'));
const read = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8');

let simulator: TestSimulator;
beforeAll(async () => {
  const release = { windowRule: 'prompt', maxModelLen: 2_048 } as const;
  simulator = await startTestSimulator([
    { ...release, servedModelNames: ['tiny-chat'], maxImagesPerPrompt: 0 },
    { ...release, servedModelNames: ['tiny-embed'], task: 'embed', embeddingDimensions: 4 },
  ]);
});
afterAll(() => simulator.close());

/**
 * Answers of a real vLLM 0.32.0, unchanged but for ids and vectors. The test compares status, headers, keys of objects and their
 * order, kinds of values, the order of events, and refusals. It does not compare the text or the number of deltas.
 */
describe('the simulator answers as vLLM 0.32.0 did', () => {
  it.each(NAMES)('%s', async (name) => {
    const { method, path, body, answer } = parseTranscript(read(name));
    const isEmbedder = path === '/v1/embeddings' && !body.includes('tiny-chat');
    const base = simulator.urls[isEmbedder ? 1 : 0];
    const response = await fetch(base + path, {
      method,
      headers: { 'x-request-id': 'golden', ...(method === 'POST' && { 'content-type': 'application/json' }) },
      ...(method === 'POST' && { body }),
    });
    const headers = [...response.headers].filter(([header]) => FROM_THE_ENGINE.has(header));
    const seen = { status: response.status, headers: Object.fromEntries(headers), body: await response.text() };

    expect(shapeOf(seen)).toEqual(shapeOf(answer));
  });

  it('and has no metric, and no label of one, that it has not', async () => {
    const known = new Set(read('metrics.list').trim().split('\n').flatMap(toFacts));
    const text = await (await fetch(`${simulator.url}/metrics`)).text();

    expect(
      text
        .trim()
        .split('\n')
        .map(withoutValues)
        .flatMap(toFacts)
        .filter((fact) => !known.has(fact)),
    ).toEqual([]);
  });
});

const FROM_THE_ENGINE = new Set(['server', 'content-type', 'vary', 'allow', 'transfer-encoding']);

/** A line of a metrics page as the list has it: a sample's name and those of its labels; a `# TYPE` line as it is. */
function withoutValues(line: string): string {
  if (line.startsWith('#')) return line;
  const [, name, labels = ''] = /^([\w:]+)(?:\{(.*)\})? /.exec(line) ?? [];
  return `${name} ${[...labels.matchAll(/(\w+)="/g)].map(([, label]) => label).join(',')}`;
}

/** Returns the existence of a metric and each of its labels as single facts. */
function toFacts(line: string): string[] {
  if (line.startsWith('#')) return [line];
  const [name = '', labels = ''] = line.split(' ');
  return labels.split(',').map((label) => `${name} has the label "${label}"`);
}
