export interface JsonPost {
  apiKey: string;
  /** A text is sent as it is, so that it need not be JSON. */
  body: object | string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Sends a body as a client does, and gives the answer unread. */
export function postJson(url: string, { apiKey, body, headers = {}, signal }: JsonPost): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });
}

/** Reads a stream's beginning, as far as its first event, and leaves the rest unread. */
export async function readFirstEvent({ body }: Response): Promise<void> {
  const reader = body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  if (value === undefined) throw new Error('the stream ended before its first event');
  reader?.releaseLock();
}
