import { createServer } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { discoverModels } from '../src/engines/discoverModels.ts';
import { aModelList, answering, type FakeEngine, listen, startFakeEngine } from './fakeEngine.ts';

let engine: FakeEngine | undefined;
afterEach(() => engine?.close());

const start = async (answer: Parameters<typeof startFakeEngine>[0]): Promise<string> => {
  engine = await startFakeEngine(answer);
  return engine.url;
};
const good = aModelList({ id: 'm' });

it('finds every model with the window that the engine states, and what vLLM can do', async () => {
  const models = aModelList(
    { id: 'org/Model-A', owned_by: 'vllm', max_model_len: 32_768 },
    { id: 'model-b', owned_by: 'somebody', max_model_len: null },
  );

  expect(await discoverModels(await start(answering({ models })))).toEqual([
    { servedName: 'org/Model-A', contextLength: 32_768, category: 'text', features: ['json_mode', 'json_schema'] },
    { servedName: 'model-b', contextLength: undefined, category: 'text', features: [] },
  ]);
});

it('knows a vLLM that embeds by the routes that it has', async () => {
  const models = aModelList({ id: 'bge', owned_by: 'vllm', max_model_len: 512 });
  const others = answering({ models });
  const url = await start((req, res) => (req.url === '/v1/embeddings' ? res.writeHead(405).end() : others(req, res)));

  expect(await discoverModels(url)).toEqual([
    { servedName: 'bge', contextLength: 512, category: 'embeddings', features: [] },
  ]);
});

it.each([
  ['a web page', { models: '<!doctype html><p>It works!' }, 'GET /v1/models with what is no JSON (text/html)'],
  ['nothing at all', { models: '' }, 'GET /v1/models with what is no JSON (text/html)'],
  ['JSON of something else', { models: { hello: 'world' } }, 'GET /v1/models with JSON that is no list of models'],
  ['a list of nonsense', { models: [{ id: 7 }] }, 'GET /v1/models with JSON that is no list of models'],
  ['a list without a model', { models: aModelList() }, 'GET /v1/models with an empty list'],
  ['a name that steers a terminal', { models: aModelList({ id: '\u001b[2J' }) }, 'JSON that is no list of models'],
  ['an endless name', { models: aModelList({ id: 'x'.repeat(5_000_000) }) }, 'GET /v1/models with more than 4 MiB'],
  ['no such path', { models: good, status: 404 }, 'GET /v1/models with status 404'],
  ['a redirect', { models: good, status: 302 }, 'GET /v1/models with status 302'],
  ['a demand for a key', { models: good, status: 401 }, 'status 401: it wants a key, and an engine is sent none'],
  ['ill health', { models: good, health: 503 }, 'GET /health with status 503'],
])('refuses %s in one line with the address and what was found', async (_what, answers, found) => {
  const url = await start(answering(answers));
  const refusal = await discoverModels(url).catch((error: Error) => error);

  expect(refusal).toMatchObject({ name: 'StackError', message: expect.stringContaining(found) });
  expect(refusal).toMatchObject({
    message: expect.stringMatching(/^The engine at http:\/\/127\.0\.0\.1:\d+ answered .*$/),
  });
});

it.each([404, 405])('takes a list of models for health where /health answers %p', async (health) => {
  expect(await discoverModels(await start(answering({ models: good, health })))).toMatchObject([{ servedName: 'm' }]);
});

it('refuses an address where nothing listens', async () => {
  const url = 'http://127.0.0.1:1';
  await expect(discoverModels(url)).rejects.toThrow(`The engine at ${url} cannot be reached (ECONNREFUSED).`);
});

it('refuses what does not speak HTTP', async () => {
  engine = await listen(
    createServer((socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .end('SSH-2.0-OpenSSH_9.2\r\n'),
    ),
  );

  await expect(discoverModels(engine.url)).rejects.toThrow(`The engine at ${engine.url} does not speak HTTP`);
});

it('gives up after 5 s on an answer that never ends', async () => {
  const url = await start((req, res) => {
    const drip = setInterval(() => res.write(' '), 100);
    req.once('close', () => clearInterval(drip));
  });

  await expect(discoverModels(url)).rejects.toThrow(`The engine at ${url} did not answer GET /v1/models within 5 s.`);
});

it('stops waiting when the start is told to stop', async () => {
  const controller = new AbortController();
  const reason = new Error('told to stop');
  const url = await start(() => controller.abort(reason));

  await expect(discoverModels(url, controller.signal)).rejects.toBe(reason);
});
