import { expect } from '@jest/globals';
import { type JsonSchema, listEdges } from '../../support/openapi/listEdges.ts';
import { readDocument } from '../../support/openapi/readDocument.ts';
import { createClient } from '../support/http.ts';
import { stack } from '../support/plainStack.ts';
import { row } from '../support/row.ts';
import { PNG } from '../support/shapes.ts';

const SIDE_BY_SIDE = 4;
const TOOLS = [{ type: 'function', function: { name: 'a' } }];
const STREAMED = { stream: true };
/** `companions` are what a field is only taken with. */
const OPERATIONS: { path: string; schema: string; base: object; companions: Record<string, object> }[] = [
  {
    path: '/chat/completions',
    schema: 'ChatRequest',
    base: { model: 'llama-3.1-8b-instruct', messages: [{ role: 'user', content: 'hi [[sim: tokens=2]]' }] },
    companions: {
      tool_choice: { tools: TOOLS },
      stream_options: STREAMED,
      messages: { model: 'qwen2.5-vl-7b-instruct' },
    },
  },
  {
    path: '/completions',
    schema: 'CompletionRequest',
    base: { model: 'llama-3.1-8b-instruct', prompt: 'hi [[sim: tokens=2]]' },
    companions: { stream_options: STREAMED },
  },
  { path: '/embeddings', schema: 'EmbeddingRequest', base: { model: 'bge-m3', input: 'hi' }, companions: {} },
];
row('request.edges', async () => {
  const { components } = readDocument() as unknown as { components: { schemas: Record<string, JsonSchema> } };
  const client = createClient(
    stack.baseUrl,
    await stack.operator.makeFundedKey({ rpm: 100_000 }, { creditUsd: '1000' }),
  );
  const cases = OPERATIONS.flatMap(({ path, schema, base, companions }) =>
    listEdges(schema, components.schemas, { samples: { url: PNG, image_url: PNG }, skipped: ['model'] }).map(
      (edge) => ({
        ...edge,
        path,
        text: JSON.stringify({ ...base, ...companions[edge.field], [edge.field]: edge.value })
          // A seed has more digits than a number.
          .replace(/"int64:(-?\d+)"/, '$1'),
      }),
    ),
  );
  expect(cases.length).toBeGreaterThan(150);
  const wrong: string[] = [];
  const sendRest = async (): Promise<void> => {
    for (let next = cases.pop(); next; next = cases.pop()) {
      const { path, text, place, isAllowed, isPartial, bound } = next;
      const { status, body } = await client.post(path, text);
      const { param, message = '' } =
        (body as { error?: { param?: string | null; message?: string } } | undefined)?.error ?? {};
      const isNamed =
        !!param &&
        (place.startsWith(param) || param.startsWith(place)) &&
        (bound === undefined || message.includes(String(bound)));
      const isRight = isAllowed
        ? status === 200 || (isPartial && status === 400 && isNamed)
        : status === 400 && isNamed;
      if (!isRight) wrong.push(`${path} ${place} ${isAllowed} ${status} ${param} ${message}: ${text.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, sendRest));
  expect(wrong).toEqual([]);
});
