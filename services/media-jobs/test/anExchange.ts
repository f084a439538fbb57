import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Exchange } from '../src/request/form/readForm.ts';
import { aFormBody, FORM_TYPE, type FormPart } from './aFormBody.ts';

/** A request with this body, which no socket has brought, and the answer to it. */
export function anExchange(pieces: readonly Buffer[], headers: Record<string, string> = {}): Exchange {
  async function* read(): AsyncGenerator<Buffer> {
    for (const piece of pieces) if (piece.length > 0) yield piece;
    Object.assign(req, { complete: true });
  }
  const req = Object.assign(Readable.from(read(), { objectMode: false }), { headers, complete: false });
  return { req: req as unknown as IncomingMessage, res: { shouldKeepAlive: true } };
}

export const aForm = (...parts: FormPart[]): Exchange =>
  anExchange([aFormBody(...parts)], { 'content-type': FORM_TYPE });

export const aJsonRequest = (value: unknown): Exchange =>
  anExchange([Buffer.from(JSON.stringify(value))], { 'content-type': 'application/json' });
