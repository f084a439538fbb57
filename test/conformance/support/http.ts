import { expect } from '@jest/globals';

/** A response, read to its end. */
export interface Answer {
  status: number;
  headers: Headers;
  bytes: Buffer;
  /** The bytes as text. */
  text: string;
  /** The text as JSON; undefined where it is none. */
  body: unknown;
}

export interface Call {
  headers?: Record<string, string>;
}

interface Sending extends Call {
  /** An object goes as JSON; a text, bytes and a form go as they are. */
  body?: object | string | Buffer | FormData;
}

/** Sends requests with one key, or with none. Retries nothing. */
export interface Client {
  send(method: 'GET' | 'POST' | 'DELETE', path: string, sending?: Sending): Promise<Answer>;
  get(path: string, call?: Call): Promise<Answer>;
  post(path: string, body: NonNullable<Sending['body']>, call?: Call): Promise<Answer>;
  /** The same, the answer unread. */
  open(path: string, body: object, signal?: AbortSignal): Promise<Response>;
}

/** A client of the API at `baseUrl`, which ends in `/v1`. */
export function createClient(baseUrl: string, apiKey?: string): Client {
  const own: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const json = { ...own, 'content-type': 'application/json' };
  const send: Client['send'] = async (method, path, { body, headers } = {}) => {
    // A form says by itself where its parts begin.
    const fitting = body === undefined || body instanceof FormData ? own : json;
    const content = body === undefined ? {} : { body: toContent(body) };
    return read(await fetch(`${baseUrl}${path}`, { method, headers: { ...fitting, ...headers }, ...content }));
  };
  return {
    send,
    get: (path, call) => send('GET', path, call),
    post: (path, body, call) => send('POST', path, { ...call, body }),
    open: (path, body, signal) =>
      fetch(`${baseUrl}${path}`, {
        method: 'POST',
        headers: json,
        body: JSON.stringify(body),
        ...(signal && { signal }),
      }),
  };
}

function toContent(body: NonNullable<Sending['body']>): string | Uint8Array<ArrayBuffer> | FormData {
  if (typeof body === 'string' || body instanceof FormData) return body;
  return Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body);
}

async function read(response: Response): Promise<Answer> {
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString();
  const answer = { status: response.status, headers: response.headers, bytes, text, body: parse(text) };
  if (answer.status >= 400) expectSaidInHeaders(answer);
  return answer;
}

interface ErrorFields {
  message?: string;
  param?: string | null;
}

/** Asserts that an error repeats its sentence and its field in headers, for clients that show nothing else of some bodies. */
export function expectSaidInHeaders({ status, headers, body }: Pick<Answer, 'status' | 'headers' | 'body'>): void {
  const { error, detail, ...flatFields } = body as ErrorFields & { error?: string | object; detail?: string };
  const fields = (typeof error === 'object' ? error : flatFields) as ErrorFields & {
    provider_specific_fields?: ErrorFields;
  };
  const { message = detail } = fields.provider_specific_fields ?? fields;
  // A 413 that shows while the upload is read has a body without a sentence.
  const said = message === undefined ? expect.stringMatching(/^[ -~]{1,300}$/) : toHeaderText(message);
  const param = fields.param && fields.param !== 'None' ? toHeaderText(fields.param) : null;
  const told = { said: headers.get('x-error-message'), param: headers.get('x-error-param') };
  expect({ status, body, ...told }).toEqual({ status, body, said, param });
}

/** The signs beyond ASCII in sentences of ours, and accents. */
function toHeaderText(text: string): string {
  const ascii = text
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll('’', "'")
    .replaceAll('…', '...')
    .replaceAll(/[^ -~]/gu, '?');
  return ascii.length > 300 ? `${ascii.slice(0, 297)}...` : ascii;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
