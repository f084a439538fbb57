import { createServer, type Server, type ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { aChatRequest } from '../../test/aChatRequest.ts';
import { anEngine } from '../../test/anEngine.ts';
import { anEngineRegistry } from '../../test/anEngineRegistry.ts';
import { aPricedModel } from '../../test/aPricedModel.ts';
import { listenAnywhere } from '../../test/listenAnywhere.ts';
import type { InferenceRequest } from '../request/inferenceRequest.ts';
import type { Engine } from './engine.ts';
import { createPromptCounter } from './promptCounter.ts';

let answer: { status: number; body: string };
let asked: unknown;
let server: Server;
let origin: string;
beforeAll(async () => {
  server = createServer(async (req, res) => {
    asked = { path: req.url, body: JSON.parse(await textOf(req)) };
    res.writeHead(answer.status).end(answer.body);
  });
  origin = await listenAnywhere(server);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const LIMITS = { inAll: 9, perWorkspace: 9, waitingPerKey: 9 };
const OWNER = { workspaceId: 'ws_1', keyId: 'key_1' };
const aCounter = (engines: Engine[], limits = LIMITS) =>
  createPromptCounter({ engines: anEngineRegistry(() => engines), limits });
const count = (engines: Engine[], request: InferenceRequest, model = aPricedModel()) =>
  aCounter(engines)(request, model, OWNER);
const tools = [{ type: 'function', function: { name: 'f' } }];

it('asks an engine by the name it serves, with all that its template sees', async () => {
  answer = { status: 200, body: '{"count":17,"max_model_len":100,"tokens":[]}' };
  const request = aChatRequest({
    messages: [{ role: 'developer', content: 'Be brief' }],
    tools,
    chat_template_kwargs: { enable_thinking: false },
    temperature: 1,
  });
  expect(await count([anEngine('e', { origin })], request)).toBe(17);
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
  expect(await count([anEngine('e', { origin })], request, model)).toBe(17 + 2 * 256);
  expect(JSON.stringify(asked)).not.toContain('example.org');
});

it.each<[string, number, string]>([
  ['refuses', 400, '{}'],
  ['answers nonsense', 200, '{"count":"many"}'],
  ['counts below zero', 200, '{"count":-1}'],
  ['answers no JSON', 200, '<html>'],
])('leaves the byte bound to decide when the engine %s', async (_case, status, body) => {
  answer = { status, body };
  expect(await count([anEngine('e', { origin })], aChatRequest())).toBeUndefined();
});

it.each<[string, Engine[]]>([
  ['there is none', []],
  ['none is healthy', [anEngine('e', { isIn: false })]],
  ['none can be reached', [anEngine('e')]],
])('leaves the byte bound to decide when %s', async (_case, engines) => {
  expect(await count(engines, aChatRequest())).toBeUndefined();
});

/** Engines that answer as told, or keep their questions until then, and how often each was asked. */
async function someEngines(...statuses: (number | 'silent')[]) {
  const open: Server[] = [];
  const asked: string[] = [];
  const waiting: ServerResponse[] = [];
  const engines: Engine[] = [];
  for (const [nth, status] of statuses.entries()) {
    const server = createServer((req, res) => {
      req.resume();
      asked.push(`e${nth}`);
      if (status === 'silent') waiting.push(res);
      else res.writeHead(status).end('{"count":3}');
    });
    open.push(server);
    engines.push(anEngine(`e${nth}`, { origin: await listenAnywhere(server) }));
  }
  const answer = () => {
    for (const res of waiting.splice(0)) res.end('{"count":3}');
  };
  fleets.push({
    async close() {
      await Promise.all(engines.map(({ pool }) => pool.destroy()));
      for (const server of open) server.close();
    },
  });
  return { engines, asked, waiting, answer };
}
const fleets: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.close();
});

it('asks the engines of a model in turn, whatever is asked about another', async () => {
  const { engines, asked } = await someEngines(200, 200);
  const countPromptTokens = aCounter(engines);
  for (const id of ['one', 'other', 'one', 'other'])
    await countPromptTokens(aChatRequest(), aPricedModel({ id, aliases: ['engine-name'] }), OWNER);
  expect(asked).toEqual(['e1', 'e1', 'e0', 'e0']);
});

it('asks one more engine where one fails, and no other where it says that the question is wrong', async () => {
  const failing = await someEngines(500, 200);
  const countPromptTokens = aCounter(failing.engines);
  for (let call = 0; call < 2; call += 1)
    expect(await countPromptTokens(aChatRequest(), aPricedModel(), OWNER)).toBe(3);
  expect(failing.asked.toSorted()).toEqual(['e0', 'e1', 'e1']);

  const refusing = await someEngines(400, 400);
  expect(await count(refusing.engines, aChatRequest())).toBeUndefined();
  const broken = await someEngines(500, 500, 500);
  expect(await count(broken.engines, aChatRequest())).toBeUndefined();
  expect([refusing.asked.length, broken.asked.length]).toEqual([1, 2]);
});

it('has so many questions under way for a workspace, lets so many of a key wait, and others pass', async () => {
  const { engines, waiting, answer } = await someEngines('silent');
  const countPromptTokens = aCounter(engines, { inAll: 2, perWorkspace: 1, waitingPerKey: 1 });
  const ask = (owner = OWNER) => countPromptTokens(aChatRequest(), aPricedModel(), owner);
  const first = ask();
  const second = ask();
  await expect(ask()).rejects.toMatchObject({ fault: { kind: 'key_bound_reached', bound: 'prompt_counts' } });
  const other = ask({ workspaceId: 'ws_2', keyId: 'key_2' });
  await until('the questions of both', () => waiting.length === 2);
  const timer = setInterval(answer, 1);
  expect(await Promise.all([first, second, other]).finally(() => clearInterval(timer))).toEqual([3, 3, 3]);
});

it('says whose fault it is when a prompt’s turn does not come in time', async () => {
  const { engines } = await someEngines('silent');
  const countPromptTokens = aCounter(engines, { inAll: 1, perWorkspace: 1, waitingPerKey: 9 });
  const ask = (owner = OWNER) => countPromptTokens(aChatRequest(), aPricedModel(), owner).catch(({ fault }) => fault);
  const outcomes = await Promise.all([ask(), ask(), ask({ workspaceId: 'ws_2', keyId: 'key_2' })]);
  expect(outcomes).toEqual([
    undefined,
    expect.objectContaining({ kind: 'key_bound_reached' }),
    expect.objectContaining({ kind: 'overloaded' }),
  ]);
});
