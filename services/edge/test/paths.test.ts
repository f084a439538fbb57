import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sendTarget } from './sendRaw.ts';
import { startEdge, type TestEdge } from './startEdge.ts';

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.stop());

it.each([
  ['POST', '/v1/chat/completions', 'model-router'],
  ['POST', '/v1/completions', 'model-router'],
  ['POST', '/v1/embeddings', 'model-router'],
  ['POST', '/v1/images/generations', 'media-jobs'],
  ['GET', '/v1/images/jobs/job_1/content?index=0', 'media-jobs'],
  ['POST', '/v1/videos', 'media-jobs'],
  ['GET', '/v1/videos?limit=2', 'media-jobs'],
  ['GET', '/v1/videos/video_1', 'media-jobs'],
  ['GET', '/v1/videos/anything', 'media-jobs'],
  ['DELETE', '/v1/videos/video_1', 'media-jobs'],
  ['GET', '/v1/videos/video_1/content', 'media-jobs'],
  ['POST', '/v1/audio/speech', 'media-jobs'],
  ['POST', '/v1/audio/transcriptions', 'media-jobs'],
  ['POST', '/v1/audio/translations', 'media-jobs'],
  ['DELETE', '/v1/audio/jobs/job_1', 'media-jobs'],
  ['GET', '/v1/models', 'catalog'],
  ['GET', '/v1/models/qwen2.5-vl-7b-instruct', 'catalog'],
  ['GET', '/v1/models/name%20with%C3%BC', 'catalog'],
  ['GET', '/v1/models/a/b', 'catalog'],
  ['GET', '/v1/svc/key', 'auth'],
  ['GET', '/v1/svc/credit', 'auth'],
  ['GET', '/v1/svc/usage?group_by=model&start=2026-01-01', 'usage-ledger'],
  ['GET', '/v1/svc/usage/request/0199c2a4-7a3e-7000-8000-000000000001', 'usage-ledger'],
  ['GET', '/v1/svc/usage/request/0199c2a4-7a3e-7000-8000-000000000001%0a', 'usage-ledger'],
  ['GET', '/v1/svc/usage/request/%00%1F%7f', 'usage-ledger'],
])('%s %s goes to %s as it was sent', async (method, target, upstream) => {
  const before = edge.received.length;
  const response = await fetch(edge.url + target, { method, ...(method === 'POST' && { body: '{}' }) });

  expect(await response.json()).toEqual({ upstream });
  const received = edge.received.slice(before);
  expect(received.map(({ req }) => [req.method, req.url])).toEqual([[method, target]]);
});

it.each([
  '/',
  '/v1',
  '/v1/',
  '/v2/models',
  '//v1/models',
  '/v1//models',
  '/v1/models/',
  '/V1/models',
  '/v1/Models',
  '/v1/MODELS/abc',
  '/v1/models/a//b',
  '/v1/models/a%2fb',
  '/v1/models/a%2Fb',
  '/v1/models/a%5cb',
  '/v1/models/a%00',
  '/v1/models/a%0d%0aX',
  '/v1/models/%ff',
  '/v1/models/%zz',
  '/v1/models/%',
  '/v1/models/a;b=c',
  '/v1/models/..',
  '/v1/models/.',
  '/v1/models/%2e%2e',
  '/v1/models/.%2e',
  '/v1/models/../svc/key',
  '/v1/./models',
  '/v1/../internal/catalog',
  '/v1/%2e%2e/internal/catalog',
  '/v1%2fmodels',
  '/v1/mod%65ls',
  '/v1\\models',
  '/v1/models\\abc',
  '/internal/catalog',
  '/internal/keys/verify',
  '/health',
  '/ready',
  '/metrics',
  '/tokenize',
  '/invocations',
  '/v1/load_lora_adapter',
  '/v1/svc',
  '/v1/svc/key/',
  '/v1/svc/key/x',
  '/v1/svc/usage/request',
  '/v1/svc/usage/request/',
  '/v1/svc/usage/request/a/b',
  '/v1/svc/usage/request/a%2fb',
  '/v1/svc/usage/request/a%5C%00',
  '/v1/svc/usage/request/%2e%2e',
  '/v1/other/key',
  'http://api.example/v1/models',
  'http://[::/v1/models',
  '*',
])('%s is not listed: 404, and nothing reaches a service', async (target) => {
  const before = edge.received.length;
  const { status, body } = await sendTarget(edge.port, { target });

  expect(status).toBe(404);
  expect(JSON.parse(body)).toMatchObject({ error: { type: 'invalid_request_error', param: null, code: 'not_found' } });
  expect(edge.received).toHaveLength(before);
});

it.each([
  ['DELETE', '/v1/models', 'GET'],
  ['OPTIONS', '/v1/models', 'GET'],
  ['OPTIONS', '/v1/chat/completions', 'POST'],
  ['GET', '/v1/chat/completions', 'POST'],
  ['POST', '/v1/svc/key', 'GET'],
  ['PUT', '/v1/models/abc', 'GET'],
  ['TRACE', '/v1/svc/usage', 'GET'],
  ['PROPFIND', '/v1/embeddings', 'POST'],
])('%s %s is a wrong method: 405 that allows %s', async (method, target, allow) => {
  const before = edge.received.length;
  const { status, head, body } = await sendTarget(edge.port, {
    method,
    target,
    headers: ['Origin: http://site.example'],
  });

  expect(status).toBe(405);
  expect(head.toLowerCase()).toContain(`\r\nallow: ${allow.toLowerCase()}\r\n`);
  expect(head.toLowerCase()).not.toContain('access-control');
  expect(JSON.parse(body)).toMatchObject({ error: { type: 'invalid_request_error' } });
  expect(edge.received).toHaveLength(before);
});

it('HEAD is a wrong method too, answered without a body', async () => {
  const { status, body } = await sendTarget(edge.port, { method: 'HEAD', target: '/v1/models' });
  expect({ status, body }).toEqual({ status: 405, body: '' });
});

it('words an operation of the Messages API that there is not in the form of that API', async () => {
  const response = await fetch(`${edge.url}/v1/messages/batches`);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({
    type: 'error',
    error: {
      type: 'not_found_error',
      message: 'This service does not support batches of messages. Send each with POST /v1/messages instead.',
      code: 'unsupported_endpoint',
    },
  });
});

it.each([
  ['POST', '/v1/fine-tuning', 'fine-tuning. Use a model of GET /v1/models'],
  ['POST', '/v1/fine_tuning/jobs', 'fine-tuning. Use a model of GET /v1/models'],
  ['POST', '/v1/assistants', 'assistants. Use POST /v1/chat/completions'],
  ['GET', '/v1/threads/thread_1/messages', 'threads. Use POST /v1/chat/completions'],
  ['GET', '/v1/runs', 'runs. Use POST /v1/chat/completions'],
  ['POST', '/v1/batches', 'batches. Send each request by itself'],
  ['GET', '/v1/files', 'files. Send what they hold within the request'],
  ['DELETE', '/v1/files/file-1', 'files. Send what they hold within the request'],
  ['GET', '/v1/responses/resp_1/input_items', 'stored responses. Send the whole conversation'],
  ['POST', '/responses/resp_1/cancel', 'stored responses. Send the whole conversation'],
  ['POST', '/v1/uploads', 'uploads. Send what they hold within the request'],
  ['POST', '/v1/vector_stores/vs_1/search', 'vector stores. Search by the vectors of POST /v1/embeddings'],
  ['POST', '/v1/responses/input_tokens', 'counts of a response’s input. Count it with POST /v1/messages/count_tokens'],
  ['POST', '/v1/moderations', 'moderations. Ask a chat model with POST /v1/chat/completions'],
  ['POST', '/v1/rerank', 'rerank. Compare the vectors of POST /v1/embeddings'],
  ['GET', '/v1/realtime', 'realtime. Use POST /v1/chat/completions with "stream": true'],
  ['POST', '/v1/images/edits', 'edits and variations of images. Make a new one'],
  ['POST', '/v1/videos/edits', 'edits of videos. Make a new one'],
  ['POST', '/v1/videos/extensions', 'extensions of videos. Make a new one'],
  ['GET', '/v1/videos/characters', 'characters of videos. Describe them'],
  ['GET', '/v1/videos/characters/char_1', 'characters of videos. Describe them'],
  ['POST', '/v1/videos/video_1/remix', 'remixes of videos. Make a new one'],
  ['POST', '/v1/realtime/sessions', 'realtime. Use POST /v1/chat/completions with "stream": true'],
  ['POST', '/rerank', 'rerank. Compare the vectors of POST /v1/embeddings'],
  ['GET', '/files/file-1', 'files. Send what they hold within the request'],
  ['POST', '/openai/images/edits', 'edits and variations of images. Make a new one'],
])('%s %s is explicitly unsupported, and told what to use instead', async (method, target, message) => {
  const response = await fetch(edge.url + target, { method });
  expect(response.status).toBe(404);
  expect(response.headers.get('x-should-retry')).toBe('false');
  expect(await response.json()).toEqual({
    error: {
      message: expect.stringContaining(`This service does not support ${message}`),
      type: 'invalid_request_error',
      param: null,
      code: 'unsupported_endpoint',
    },
  });
});

it('an unsupported operation is recognised by its whole name', async () => {
  const response = await fetch(`${edge.url}/v1/filesystem`);
  expect(await response.json()).toMatchObject({ error: { code: 'not_found' } });
});
