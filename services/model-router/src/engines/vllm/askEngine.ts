import type { EngineConnection } from '../terms/dialect.ts';

export interface EngineQuestion {
  path: string;
  /** Sent as JSON; a GET without it. */
  body?: object;
  /** Most bytes of an answer that are read. The rest is dropped with its connection. */
  maxBytes: number;
  signal: AbortSignal;
  headers?: Record<string, string>;
  /** Receives a successful answer as it grows: the whole text so far, at each read. */
  onText?: (text: string) => void;
}

/** Sends a request of the router's own to an engine. Rejects if the signal fires or the connection breaks. */
export async function askEngine(
  pool: EngineConnection,
  { path, body, maxBytes, signal, headers = {}, onText }: EngineQuestion,
): Promise<{ status: number; bytes: Buffer }> {
  const answer = await pool.request({
    method: body ? 'POST' : 'GET',
    path,
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
    signal,
  });
  const onBytes = answer.statusCode === 200 ? onText : undefined;
  return { status: answer.statusCode, bytes: await readAnswer(answer.body, { maxBytes, onText: onBytes }) };
}

/** Reads an answer's body as far as `maxBytes`; the rest is dropped with its connection. */
export async function readAnswer(
  body: AsyncIterable<Buffer>,
  { maxBytes, onText }: Pick<EngineQuestion, 'maxBytes'> & { onText?: EngineQuestion['onText'] | undefined },
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    onText?.(Buffer.concat(chunks).toString('utf8'));
    if (size > maxBytes) break;
  }
  return Buffer.concat(chunks);
}
