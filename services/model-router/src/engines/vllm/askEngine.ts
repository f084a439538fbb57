import type { EngineConnection } from '../terms/dialect.ts';

export interface EngineQuestion {
  path: string;
  /** Sent as JSON; a GET without it. */
  body?: object;
  /** The most that is read of an answer; the rest is dropped with its connection. */
  maxBytes: number;
  signal: AbortSignal;
  headers?: Record<string, string>;
  /** Hears a good answer as it grows: all of it that is here by now, each time more comes. */
  onText?: (text: string) => void;
}

/** Asks an engine something that is no call of a client's. Rejects when the signal fires or the connection breaks. */
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
