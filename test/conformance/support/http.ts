/** What came back, read to its end. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The text as JSON; undefined where it is none. */
  body: unknown;
}

export interface Call {
  headers?: Record<string, string>;
}

/** Whoever sends requests with one key, or with none. Retries nothing. */
export interface Client {
  get(path: string, call?: Call): Promise<Answer>;
  /** Sends an object as JSON, and a text or bytes as they are. */
  post(path: string, body: object | string | Buffer, call?: Call): Promise<Answer>;
  /** The same, the answer unread. */
  open(path: string, body: object, signal?: AbortSignal): Promise<Response>;
}

/** A client of the API at `baseUrl`, which ends in `/v1`. */
export function createClient(baseUrl: string, apiKey?: string): Client {
  const own: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const json = { ...own, 'content-type': 'application/json' };
  return {
    get: async (path, { headers } = {}) => read(await fetch(`${baseUrl}${path}`, { headers: { ...own, ...headers } })),
    async post(path, body, { headers } = {}) {
      const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
      const content = isRaw ? new Uint8Array(Buffer.from(body)) : JSON.stringify(body);
      return read(
        await fetch(`${baseUrl}${path}`, { method: 'POST', headers: { ...json, ...headers }, body: content }),
      );
    },
    open: (path, body, signal) =>
      fetch(`${baseUrl}${path}`, {
        method: 'POST',
        headers: json,
        body: JSON.stringify(body),
        ...(signal && { signal }),
      }),
  };
}

async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
