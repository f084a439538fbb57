import { crc32, deflateSync } from 'node:zlib';

/**
 * The requests of the load generator and the responses of the raw engine. They are made once, so that the measurement does not
 * include it.
 */

export const MODEL = 'bench-model';
/** So many addresses of this machine that nobody else reaches; the first is 127.0.0.1. */
export const listLoopbacks = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `127.0.${Math.floor(index / 250)}.${1 + (index % 250)}`);

export const EMBEDDING_MODEL = 'bench-embedding';
/** Bytes of the content of a whole answer; with its JSON and head it has about 1 KiB, as a short answer has. */
const WHOLE_CONTENT_BYTES = 300;
const PROMPT_TOKENS = 256;

const identity = { id: 'chatcmpl-4c8a1ba0bbd54ea8a7d5b2b9f7a1c9d2', created: 1_767_225_600, model: MODEL };
const toUsage = (completionTokens: number) => ({
  prompt_tokens: PROMPT_TOKENS,
  total_tokens: PROMPT_TOKENS + completionTokens,
  completion_tokens: completionTokens,
});

/** A whole answer of vLLM, with its head. */
export function toWholeAnswer(): Buffer {
  const message = { role: 'assistant', content: 'word '.repeat(WHOLE_CONTENT_BYTES / 5), tool_calls: [] };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop', stop_reason: null }];
  return toJsonAnswer({ ...identity, object: 'chat.completion', choices, usage: toUsage(60) });
}

/** A 200 of any JSON, with its head. */
export function toJsonAnswer(body: object): Buffer {
  const payload = Buffer.from(JSON.stringify(body));
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${payload.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), payload]);
}

/** A 200 of a text, with its head. */
export const toTextAnswer = (text: string): Buffer =>
  Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${text.length}\r\n\r\n${text}`);

/** A stream of vLLM as it leaves the engine: the head with the first event, each event with a token, and the end. */
export interface StreamBytes {
  start: Buffer;
  tokens: Buffer[];
  end: Buffer;
}

/** A stream of so many tokens with the usage in every chunk, as the router asks for it; each event is one HTTP chunk. */
export function toStreamBytes(tokens: number): StreamBytes {
  const head =
    'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n';
  const toEvent = (delta: object, finishReason: string | null, completionTokens: number): Buffer => {
    const choice = { index: 0, delta, logprobs: null, finish_reason: finishReason };
    return toEventBytes({
      ...identity,
      object: 'chat.completion.chunk',
      choices: [choice],
      usage: toUsage(completionTokens),
    });
  };
  const usage = toEventBytes({ ...identity, object: 'chat.completion.chunk', choices: [], usage: toUsage(tokens) });
  return {
    start: Buffer.concat([Buffer.from(head), toEvent({ role: 'assistant', content: '' }, null, 0)]),
    tokens: Array.from({ length: tokens }, (_, index) => toEvent({ content: ' word' }, null, index + 1)),
    end: Buffer.concat([
      toEvent({ content: '' }, 'stop', tokens),
      usage,
      toHttpChunk('data: [DONE]\n\n'),
      Buffer.from('0\r\n\r\n'),
    ]),
  };
}

const toEventBytes = (data: object): Buffer => toHttpChunk(`data: ${JSON.stringify(data)}\n\n`);
const toHttpChunk = (text: string): Buffer => Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);

const EMBEDDING_INPUTS = 64;
const EMBEDDING_DIMENSIONS = 1_024;

/** An answer of vLLM to 64 inputs, as base64. */
export function toEmbeddingsAnswer(): Buffer {
  const embedding = Buffer.alloc(4 * EMBEDDING_DIMENSIONS, 0x3c).toString('base64');
  const data = Array.from({ length: EMBEDDING_INPUTS }, (_, index) => ({ object: 'embedding', index, embedding }));
  const usage = { prompt_tokens: PROMPT_TOKENS, total_tokens: PROMPT_TOKENS };
  return toJsonAnswer({
    id: 'embd-4c8a1ba0',
    object: 'list',
    created: identity.created,
    model: EMBEDDING_MODEL,
    data,
    usage,
  });
}

/** A client's request without its key and target. */
export interface ClientRequest {
  method: 'GET' | 'POST';
  path: string;
  body: string;
}

/** A chat call with a prompt of so many bytes. `name` begins the prompt, where one call is to be told from others. */
export function toChatRequest({
  model = MODEL,
  promptBytes = 1_024,
  isStream = false,
  name = '',
}: {
  model?: string;
  promptBytes?: number;
  isStream?: boolean;
  name?: string;
} = {}): ClientRequest {
  const content = (name + ' Tell me more of it.'.repeat(Math.ceil(promptBytes / 20))).slice(0, promptBytes);
  return toPost('/v1/chat/completions', {
    model,
    messages: [{ role: 'user', content }],
    max_tokens: 128,
    ...(isStream && { stream: true }),
  });
}

export const CHAT_APIS = ['chat', 'responses', 'messages'] as const;
/** An API in which a client says a chat. */
export type ChatApi = (typeof CHAT_APIS)[number];

/** A streamed chat with the prompt of `toChatRequest`, as one API says it. */
export function toStreamRequest(api: ChatApi): ClientRequest {
  const chat = toChatRequest({ isStream: true });
  if (api === 'chat') return chat;
  const { model, messages, max_tokens, stream } = JSON.parse(chat.body);
  return api === 'messages'
    ? toPost('/v1/messages', { model, messages, max_tokens, stream })
    : toPost('/v1/responses', { model, input: messages, max_output_tokens: max_tokens, stream });
}

/** A chat call with an image in it, of some 5 MB as base64: noise, which no compression makes smaller. */
export function toImageRequest(): ClientRequest {
  const [width, height] = [1_280, 1_000];
  let state = 1;
  const rows = Buffer.alloc(height * (1 + 3 * width));
  for (let at = 0; at < rows.length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    rows[at] = at % (1 + 3 * width) === 0 ? 0 : state >>> 24;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const png = Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    toPngChunk('IHDR', header),
    toPngChunk('IDAT', deflateSync(rows, { level: 0 })),
    toPngChunk('IEND', Buffer.alloc(0)),
  ]);
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${png.toString('base64')}` } };
  const content = [{ type: 'text', text: 'What is this?' }, image];
  return toPost('/v1/chat/completions', { model: MODEL, messages: [{ role: 'user', content }], max_tokens: 128 });
}

function toPngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

export const toEmbeddingsRequest = (): ClientRequest =>
  toPost('/v1/embeddings', {
    model: EMBEDDING_MODEL,
    input: Array.from({ length: EMBEDDING_INPUTS }, (_, index) => `What is the ${index}th thing to know about it?`),
    encoding_format: 'base64',
  });

export const modelListRequest: ClientRequest = { method: 'GET', path: '/v1/models', body: '' };

const toPost = (path: string, body: object): ClientRequest => ({ method: 'POST', path, body: JSON.stringify(body) });

/** A request as its bytes. */
export function toBytes(
  { method, path, body }: ClientRequest,
  { port, apiKey, headers = {} }: { port: number; apiKey: string; headers?: Record<string, string> | undefined },
): string {
  return [
    `${method} ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${apiKey}`,
    'accept: application/json',
    'user-agent: bench',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(method === 'POST' ? ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`] : []),
    '',
    body,
  ].join('\r\n');
}
