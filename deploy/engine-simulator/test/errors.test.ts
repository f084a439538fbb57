import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chat, post, startTestSimulator, type TestSimulator } from './support/testSimulator.ts';

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator([{ maxModelLen: 512 }, { maxImagesPerPrompt: 0 }]);
});
afterAll(() => simulator.close());

const path = '/v1/chat/completions';
const image = (url: string) => [{ type: 'image_url', image_url: { url } }];
const tool = { type: 'function', function: { name: 'f' } };

async function refusalOf(response: Response) {
  const { error } = (await response.json()) as {
    error: { message: string; type: string; param: string | null; code: number };
  };
  return { status: response.status, type: error.type, param: error.param, code: error.code, message: error.message };
}

describe('refusals', () => {
  it.each<[string, unknown, number, string, string | null, RegExp]>([
    ['text that is not JSON', '{"model":', 400, 'Bad Request', 'body.9', /JSON decode error/],
    ['missing messages', { model: 'test-model' }, 400, 'Bad Request', 'body.messages', /Field required/],
    ['a wrong type', { messages: 'x' }, 400, 'Bad Request', 'body.messages', /1 validation error/],
    [
      'no message',
      { messages: [] },
      400,
      'BadRequestError',
      null,
      /^Cannot apply chat template to an empty conversation/,
    ],
    [
      'stream_options without stream',
      chat('x', { stream_options: {} }),
      400,
      'BadRequestError',
      'stream_options',
      /\(parameter=stream_options\)/,
    ],
    ['empty tools', chat('x', { tools: [] }), 400, 'BadRequestError', 'tools', /empty/],
    [
      'tool_choice without tools',
      chat('x', { tool_choice: 'required' }),
      400,
      'BadRequestError',
      'tool_choice',
      /`tools` must be set/,
    ],
    [
      'a tool nobody defined',
      chat('x', { tools: [tool], tool_choice: { type: 'function', function: { name: 'g' } } }),
      400,
      'BadRequestError',
      'tool_choice',
      /does not match/,
    ],
    [
      'top_logprobs without logprobs',
      chat('x', { top_logprobs: 2 }),
      400,
      'BadRequestError',
      'top_logprobs',
      /logprobs/,
    ],
    [
      'a JSON schema format without a schema',
      chat('x', { response_format: { type: 'json_schema' } }),
      400,
      'BadRequestError',
      'response_format',
      /json_schema/,
    ],
    [
      'a cache salt that looks like a path',
      chat('x', { cache_salt: 'a/b' }),
      400,
      'BadRequestError',
      'cache_salt',
      /cache_salt/,
    ],
    [
      'an unknown model',
      chat('x', { model: 'nope' }),
      404,
      'NotFoundError',
      'model',
      /^The model `nope` does not exist\. Valid aliases: test-model\.$/,
    ],
    [
      'a prompt longer than the window',
      chat('x'.repeat(6_000)),
      400,
      'BadRequestError',
      'input_tokens',
      /maximum context length is 512 tokens.*at least 513 input tokens/,
    ],
    [
      'prompt and output longer than the window',
      chat('x', { max_tokens: 510 }),
      400,
      'BadRequestError',
      'input_tokens',
      /you requested 510 output tokens/,
    ],
    [
      'output alone longer than the window',
      chat('x', { max_tokens: 513 }),
      400,
      'BadRequestError',
      'max_tokens',
      /cannot be greater than max_model_len=512/,
    ],
    [
      'no output at all',
      chat('x', { max_tokens: 0 }),
      400,
      'BadRequestError',
      'max_tokens',
      /must be at least 1, got 0/,
    ],
    [
      'a negative temperature',
      chat('x', { temperature: -1 }),
      400,
      'BadRequestError',
      'temperature',
      /must be non-negative, got -1/,
    ],
    [
      'a temperature above two',
      chat('x', { temperature: 2.5 }),
      400,
      'BadRequestError',
      'temperature',
      /must be in \[0, 2\], got 2.5/,
    ],
    ['top_p above one', chat('x', { top_p: 1.1 }), 400, 'BadRequestError', 'top_p', /must be in \(0, 1\]/],
    ['a penalty out of range', chat('x', { presence_penalty: 3 }), 400, 'BadRequestError', null, /\[-2, 2\]/],
    [
      'min_tokens above max_tokens',
      chat('x', { min_tokens: 9, max_tokens: 8 }),
      400,
      'BadRequestError',
      null,
      /min_tokens/,
    ],
    ['five stop strings', chat('x', { stop: [...'abcde'] }), 400, 'Bad Request', 'body.stop', /validation error/],
    [
      'a message of nobody',
      { messages: [{ role: 'user' }] },
      400,
      'Bad Request',
      'body.messages.0.content',
      /required/,
    ],
    ['an empty stop string', chat('x', { stop: ['a', ''] }), 400, 'BadRequestError', null, /empty string/],
    ['several choices', chat('x', { n: 2 }), 400, 'BadRequestError', null, /n must be 1/],
    ['a data URL that is not base64', chat(image('data:image/png,abc')), 501, 'NotImplementedError', null, /base64/],
    ['a URL of no known kind', chat(image('ftp://x/y.png')), 400, 'BadRequestError', null, /HTTP, data or file URL/],
    [
      'bytes that are no image',
      chat(image('data:image/png;base64,aGVsbG8=')),
      400,
      'BadRequestError',
      null,
      /cannot identify image file/,
    ],
    ['a directive that does not exist', chat('[[sim: nonsense=1]]'), 400, 'BadRequestError', 'messages', /nonsense/],
  ])('answer %s', async (_case, body, status, type, param, message) => {
    const response = await post(simulator.url + path, body);
    expect(await refusalOf(response)).toEqual({
      status,
      type,
      param,
      code: status,
      message: expect.stringMatching(message),
    });
  });

  it('answer a wrong media type with 400 before the body is read', async () => {
    const response = await post(simulator.url + path, '{', { 'content-type': 'text/plain' });
    expect(await refusalOf(response)).toMatchObject({
      status: 400,
      type: 'Bad Request',
      message: expect.stringMatching(/Unsupported Media Type/),
    });
  });

  it('come in order: schema, model, length, sampling', async () => {
    const wrong = { model: 'nope', messages: [{ role: 'user', content: 'x'.repeat(6_000) }], temperature: -1, n: 'x' };
    const fixes = [{ n: 1 }, { model: 'test-model' }, { messages: [{ role: 'user', content: 'x' }] }];
    const params: (string | null)[] = [];
    let body: object = wrong;
    for (const fix of [{}, ...fixes]) {
      body = { ...body, ...fix };
      params.push((await refusalOf(await post(simulator.url + path, body))).param);
    }
    expect(params).toEqual(['body.n', 'model', 'input_tokens', 'temperature']);
  });

  it('leave no trace in the log of served requests', async () => {
    const { requests } = (await (await fetch(`${simulator.adminUrl}/admin/requests`)).json()) as {
      requests: unknown[];
    };
    expect(requests).toEqual([]);
  });

  it('refuse images on a text model', async () => {
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    const response = await post(simulator.urls[1] + path, chat(image(url)));
    expect(await refusalOf(response)).toMatchObject({
      status: 400,
      message: 'test-model is not a multimodal model',
    });
  });

  it.each([
    ['GET', '/v1/embeddings', 404, 'Not Found'],
    ['GET', '/v1/chat/completions', 405, 'Method Not Allowed'],
  ])('answer %s %s with %i', async (method, route, status, phrase) => {
    const response = await fetch(simulator.url + route, { method });
    expect([response.status, await response.json()]).toEqual([status, { detail: phrase }]);
  });
});
