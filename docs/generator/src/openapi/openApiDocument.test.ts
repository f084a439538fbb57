import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { listPaths } from '@turnpike/edge/listedPaths';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { OPENAPI_FILE, renderOpenApi, toOpenApiDocument } from './openApiDocument.ts';

const document = toOpenApiDocument();
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

it('is what the services run on; if this fails: npm run docs', async () => {
  expect(await readFile(OPENAPI_FILE, 'utf8')).toBe(renderOpenApi());
});

it('is a valid OpenAPI 3.1 document of version 1.0.0', async () => {
  const validator = new Validator();
  expect(await validator.validate(JSON.parse(renderOpenApi()))).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
  expect(document.info.version).toBe('1.0.0');
});

it('has every operation that the edge lets through, and no other', () => {
  const listed = listPaths('svc').map(({ method, route }) => `${method} ${route.replace(/:(\w+)/g, '{$1}')}`);
  expect(operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`).sort()).toEqual(listed.sort());
});

it.each([
  ['createChatCompletion', [200, 400, 401, 402, 403, 404, 405, 429, 500, 503]],
  ['createResponse', [200, 400, 401, 402, 403, 404, 405, 429, 500, 503]],
  ['createMessage', [200, 400, 401, 402, 403, 404, 405, 429, 500, 503]],
  ['countMessageTokens', [200, 400, 401, 403, 404, 405, 429, 500, 503]],
  ['createCompletion', [200, 400, 401, 402, 403, 404, 405, 429, 500, 503]],
  ['createEmbedding', [200, 400, 401, 402, 403, 404, 405, 429, 500, 503]],
  ['listModels', [200, 401, 403, 405, 429, 502]],
  ['getModel', [200, 401, 403, 404, 405, 429, 502]],
  ['getKey', [200, 401, 405, 429, 502, 503]],
  ['getUsage', [200, 400, 401, 405, 429, 503, 504]],
  ['getUsageRequest', [200, 401, 404, 405, 429, 503, 504]],
  ['createImages', [200, 202, 400, 401, 402, 403, 404, 405, 422, 429, 500, 503]],
  ['createVideo', [200, 400, 401, 402, 403, 404, 405, 422, 429, 500, 503]],
  ['createSpeech', [200, 202, 400, 401, 402, 403, 404, 405, 422, 429, 500, 503]],
  ['createTranscription', [200, 202, 400, 401, 402, 403, 404, 405, 413, 422, 429, 500, 503]],
  ['createTranslation', [200, 202, 400, 401, 402, 403, 404, 405, 413, 422, 429, 500, 503]],
  ['listVideos', [200, 401, 403, 405, 422, 429, 500, 503]],
  ['getVideo', [200, 401, 403, 404, 405, 429, 500, 503]],
  ['deleteVideo', [200, 401, 403, 404, 405, 429, 500, 503]],
  ['getVideoContent', [200, 206, 401, 403, 404, 405, 422, 429, 500, 503]],
  ['getImageJob', [200, 401, 403, 404, 405, 429, 500, 503]],
  ['deleteImageJob', [200, 401, 403, 404, 405, 429, 500, 503]],
  ['getImageContent', [200, 206, 401, 403, 404, 405, 422, 429, 500, 503]],
  ['getAudioJob', [200, 401, 403, 404, 405, 429, 500, 503]],
  ['deleteAudioJob', [200, 401, 403, 404, 405, 429, 500, 503]],
  ['getAudioContent', [200, 206, 401, 403, 404, 405, 429, 500, 503]],
])('%s answers with no status but those of the contract', (id, statuses) => {
  const found = operations.find(({ operation }) => operation.operationId === id);
  expect(Object.keys(found?.operation.responses ?? {}).map(Number)).toEqual(statuses);
});

it('gives examples that are what the schemas say', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi.json');
  const bodies = [
    ...operations.flatMap(({ operation }) => [
      ...Object.values(operation.requestBody?.content ?? {}),
      ...Object.values(operation.responses)
        .flatMap((answer) => ('content' in answer ? [answer.content] : []))
        .flatMap(jsonOf),
    ]),
    ...Object.values(document.components.responses).flatMap(({ content }) => jsonOf(content)),
  ];
  const examples = bodies.flatMap((body) =>
    'examples' in body ? Object.values(body.examples ?? {}).map(({ value }) => ({ ...body, example: value })) : [body],
  );
  expect(examples.length).toBeGreaterThan(20);
  for (const { schema, example } of examples) {
    const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi.json#/')));
    expect({ example, errors: validate(example) ? [] : validate.errors }).toEqual({ example, errors: [] });
  }
});

it('lets nothing unknown into an answer, at any depth', () => {
  const media = [
    'Images',
    'ImageEvent',
    'MediaJob',
    'Video',
    'VideoList',
    'DeletedJob',
    'AnyTranscription',
    'SpeechEvent',
  ];
  const answers = [
    ...media,
    'ChatCompletion',
    'ChatChunk',
    'TextCompletion',
    'TextChunk',
    'Embeddings',
    'Model',
    'UsageRecord',
  ];
  for (const name of answers) expect(findOpenObjects(document.components.schemas[name], name)).toEqual([]);
});

function jsonOf<Content extends Record<string, unknown>>(content: Content): Content[string][] {
  return Object.entries(content).flatMap(([media, body]) =>
    media === 'application/json' ? [body as Content[string]] : [],
  );
}

/** Finds objects that take more than their own properties; a map whose values have a type is none. */
function findOpenObjects(schema: unknown, at: string): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { type, additionalProperties } = schema as Record<string, unknown>;
  const isClosed = additionalProperties === false || (additionalProperties as { type?: string } | undefined)?.type;
  return [
    ...(type === 'object' && !isClosed ? [at] : []),
    ...Object.entries(schema).flatMap(([name, value]) => findOpenObjects(value, `${at}.${name}`)),
  ];
}
