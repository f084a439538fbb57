import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { serveHttp } from '@turnpike/test-support/serveHttp';
import { isProbe } from './isProbe.ts';

export interface FloodingEngine {
  url: string;
  /** Chunks of the latest answer that it could hand over so far. */
  sentChunks(): number;
  stop(): Promise<void>;
}

/** More bytes than all sockets between engine and client hold, in no more tokens than a model may say. */
export const FLOOD = { chunks: 4_000, chunkBytes: 16_384 };
export const FLOOD_USAGE = { prompt_tokens: 9, completion_tokens: FLOOD.chunks, total_tokens: 9 + FLOOD.chunks };

/** The text of a chunk: its number, and filling. */
export const floodTextOf = (index: number): string => `${index} `.padEnd(FLOOD.chunkBytes, '.');

/** A server of the public chat API that streams legacy completions as fast as they are read. */
export async function startFloodingEngine(servedName: string): Promise<FloodingEngine> {
  let sentChunks = 0;
  const toEvent = (fields: object) =>
    `data: ${JSON.stringify({ id: 'cmpl-1', object: 'text_completion', created: 1, model: servedName, ...fields })}\n\n`;

  async function flood(res: ServerResponse): Promise<void> {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (sentChunks = 0; sentChunks < FLOOD.chunks; sentChunks += 1) {
      const isLast = sentChunks === FLOOD.chunks - 1;
      const choices = [{ index: 0, text: floodTextOf(sentChunks), finish_reason: isLast ? 'stop' : null }];
      if (!res.write(toEvent({ choices }))) await once(res, 'drain');
    }
    res.end(`${toEvent({ choices: [], usage: FLOOD_USAGE })}data: [DONE]\n\n`);
  }
  const { url, close } = await serveHttp((req, res) => {
    if (req.method === 'POST' && !isProbe(req)) {
      req.resume().once('end', () => void flood(res));
      return;
    }
    res.writeHead(200, { 'content-type': 'application/json' });
    const aToken = { choices: [{ index: 0, text: '.', finish_reason: 'length' }] };
    const models = { object: 'list', data: [{ id: servedName, object: 'model' }] };
    res.end(JSON.stringify(isProbe(req) ? aToken : models));
  });
  return { url, sentChunks: () => sentChunks, stop: close };
}
