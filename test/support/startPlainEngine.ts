import { text as readText } from 'node:stream/consumers';
import { serveHttp } from '@turnpike/test-support/serveHttp';
import { isProbe } from './isProbe.ts';

export interface PlainEngine {
  url: string;
  /** The bodies of the calls it was sent, as they came, oldest first. */
  bodies: string[];
  stop(): Promise<void>;
}

/** A prompt with this text gets a huge usage. */
export const HUGE_COUNT = '[[a huge count]]';
const HUGE_USAGE = { prompt_tokens: 2_000_000_000, completion_tokens: 2_000_000_000, total_tokens: 4_000_000_000 };

/** The usage of every other answer. */
export const PLAIN_USAGE = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };

/** A server that knows the least there is of the public chat API: one model, no stated window, whole answers alone. */
export async function startPlainEngine(servedName: string): Promise<PlainEngine> {
  const bodies: string[] = [];
  const { url, close } = await serveHttp(async (req, res) => {
    const send = (status: number, body: object) =>
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (req.url === '/health') return send(200, {});
    if (req.url === '/v1/models') return send(200, { object: 'list', data: [{ id: servedName, object: 'model' }] });
    if (req.method !== 'POST') return send(404, { error: { message: 'no such page' } });
    const body = await readText(req);
    if (!isProbe(req)) bodies.push(body);
    const { model } = JSON.parse(body) as { model?: string };
    if (model !== servedName) return send(404, { error: { message: 'no such model' } });
    const message = { role: 'assistant', content: 'Hello.' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    const usage = body.includes(HUGE_COUNT) ? HUGE_USAGE : PLAIN_USAGE;
    return send(200, { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model, choices, usage });
  });
  return { url, bodies, stop: close };
}
