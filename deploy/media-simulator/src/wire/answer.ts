import type { OutgoingHttpHeaders } from 'node:http';

/** An answer before it is sent, so that a fault can still bend it. */
export type Answer =
  | { status: number; json: object }
  | { status: number; headers: OutgoingHttpHeaders; body: Buffer }
  | { status: number; headers: OutgoingHttpHeaders; stream: AsyncIterable<Buffer> };

export const jsonAnswer = (json: object, status = 200): Answer => ({ status, json });

export const bytesAnswer = (body: Buffer, contentType: string, headers: OutgoingHttpHeaders = {}): Answer => ({
  status: 200,
  headers: { 'content-type': contentType, ...headers },
  body,
});

export const textAnswer = (text: string, contentType: string): Answer => bytesAnswer(Buffer.from(text), contentType);

export const streamAnswer = (
  stream: AsyncIterable<Buffer>,
  contentType: string,
  headers: OutgoingHttpHeaders = {},
): Answer => ({ status: 200, headers: { 'content-type': contentType, ...headers }, stream });

/** One server-sent event; vLLM-Omni names it in a line of its own, the others do not. */
export function toEvent(data: object | string, name?: string): Buffer {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return Buffer.from(`${name ? `event: ${name}\n` : ''}data: ${text}\n\n`);
}
