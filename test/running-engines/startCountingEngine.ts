import { text as readText } from 'node:stream/consumers';
import { serveHttp } from '@turnpike/test-support/serveHttp';
import { isProbe } from '../support/isProbe.ts';

export const COUNTED_MODEL = 'llama-3.3-70b-instruct';
export const COUNTED_WINDOW = 131_072;
export const BYTES_PER_TOKEN = 4;

export interface CountingEngine {
  url: string;
  counted: number;
  bodies: { max_tokens: number }[];
  stop(): Promise<void>;
}

/** An engine that counts a token for every four bytes of a question, and answers every chat with a word. */
export async function startCountingEngine(): Promise<CountingEngine> {
  const { url, close } = await serveHttp(async (req, res) => {
    const send = (body: object) => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (req.method === 'GET')
      return send({ object: 'list', data: [{ id: COUNTED_MODEL, max_model_len: COUNTED_WINDOW }] });
    const text = await readText(req);
    if (req.url === '/tokenize') {
      engine.counted += 1;
      return send({ count: Math.ceil(text.length / BYTES_PER_TOKEN) });
    }
    if (!isProbe(req)) engine.bodies.push(JSON.parse(text));
    const choices = [
      { index: 0, text: 'Hello.', message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' },
    ];
    const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
    return send({ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: COUNTED_MODEL, choices, usage });
  });
  const engine: CountingEngine = { url, counted: 0, bodies: [], stop: close };
  return engine;
}
