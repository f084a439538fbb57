import { createServer, type Server } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Pool } from 'undici';
import { aChatRequest } from '../../test/aChatRequest.ts';
import { anEngine } from '../../test/anEngine.ts';
import { anEngineRegistry } from '../../test/anEngineRegistry.ts';
import { aPricedModel } from '../../test/aPricedModel.ts';
import { listenAnywhere } from '../../test/listenAnywhere.ts';
import { countPromptTokens } from './countPromptTokens.ts';
import type { Engine } from './engine.ts';

let answer: { status: number; body: string };
let asked: unknown;
let server: Server;
let pool: Pool;
beforeAll(async () => {
  server = createServer(async (req, res) => {
    asked = { path: req.url, body: JSON.parse(await textOf(req)) };
    res.writeHead(answer.status).end(answer.body);
  });
  pool = new Pool(await listenAnywhere(server));
});
afterAll(async () => {
  await pool.destroy();
  server.close();
});

const registryOf = (...engines: Engine[]) => anEngineRegistry(() => engines);
const tools = [{ type: 'function', function: { name: 'f' } }];

it('asks an engine by the name it serves, with all that its template sees', async () => {
  answer = { status: 200, body: '{"count":17,"max_model_len":100,"tokens":[]}' };
  const request = aChatRequest({
    messages: [{ role: 'developer', content: 'Be brief' }],
    tools,
    chat_template_kwargs: { enable_thinking: false },
    temperature: 1,
  });
  expect(await countPromptTokens(registryOf(anEngine('e', { pool })), request, aPricedModel())).toBe(17);
  expect(asked).toEqual({
    path: '/tokenize',
    body: {
      model: 'engine-name',
      messages: [{ role: 'system', content: 'Be brief' }],
      tools,
      chat_template_kwargs: { enable_thinking: false },
    },
  });
});

it('asks for no image that an engine would fetch, and counts each at the model’s most', async () => {
  answer = { status: 200, body: '{"count":17}' };
  const image = { type: 'image_url', image_url: { url: 'https://example.org/a.png' } };
  const request = aChatRequest({ messages: [{ role: 'user', content: [image, image] }] });
  const model = aPricedModel({ maxTokensPerImage: 256 });
  expect(await countPromptTokens(registryOf(anEngine('e', { pool })), request, model)).toBe(17 + 2 * 256);
  expect(JSON.stringify(asked)).not.toContain('example.org');
});

it.each<[string, number, string]>([
  ['refuses', 400, '{}'],
  ['answers nonsense', 200, '{"count":"many"}'],
  ['counts below zero', 200, '{"count":-1}'],
  ['answers no JSON', 200, '<html>'],
])('leaves the byte bound to decide when the engine %s', async (_case, status, body) => {
  answer = { status, body };
  const engines = registryOf(anEngine('e', { pool }));
  expect(await countPromptTokens(engines, aChatRequest(), aPricedModel())).toBeUndefined();
});

it.each<[string, Engine[]]>([
  ['there is none', []],
  ['none is healthy', [anEngine('e', { isHealthy: false })]],
  ['none can be reached', [anEngine('e')]],
])('leaves the byte bound to decide when %s', async (_case, engines) => {
  expect(await countPromptTokens(registryOf(...engines), aChatRequest(), aPricedModel())).toBeUndefined();
});
