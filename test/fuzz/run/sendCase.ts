import { Readable } from 'node:stream';
import { Pool } from 'undici';
import { type CallCase, type FuzzCase, KEY } from '../cases/fuzzCase.ts';
import type { Answer } from '../oracle/answer.ts';
import { sendRaw } from './sendRaw.ts';

/** Sends cases to one origin, over connections that it keeps, with its keys in turn. Rejects where no whole answer comes. */
export interface Sender {
  send(fuzzCase: FuzzCase): Promise<Answer>;
  close(): Promise<void>;
}

export interface SenderOptions {
  origin: string;
  apiKeys: readonly string[];
  connections: number;
  timeoutMs: number;
}

export function createSender({ origin, apiKeys, connections, timeoutMs }: SenderOptions): Sender {
  const pool = new Pool(origin, { connections, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  let sent = 0;
  const nextKey = (): string => {
    sent += 1;
    return apiKeys[sent % apiKeys.length] as string;
  };

  async function call({ method, path, headers, body, chunkBytes }: CallCase): Promise<Answer> {
    const apiKey = nextKey();
    const answer = await pool.request({
      method: method as 'GET',
      path,
      headers: headers.flatMap(([name, value]) => [name, value.replaceAll(KEY, apiKey)]),
      ...(body && { body: chunkBytes === undefined ? body : Readable.from(cut(body, chunkBytes)) }),
    });
    const fields = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    return { status: answer.statusCode, headers: new Headers(fields), body: bytes, answers: 1 };
  }
  return {
    send: (fuzzCase) =>
      fuzzCase.kind === 'call' ? call(fuzzCase) : sendRaw(origin, withKey(fuzzCase.bytes, nextKey()), { timeoutMs }),
    close: () => pool.destroy(),
  };
}

const withKey = (bytes: Buffer, apiKey: string): Buffer =>
  Buffer.from(bytes.toString('latin1').replaceAll(KEY, apiKey), 'latin1');

function* cut(body: Buffer, size: number): Generator<Buffer> {
  for (let start = 0; start < body.length; start += size) yield body.subarray(start, start + size);
}
