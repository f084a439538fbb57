import { text as readText } from 'node:stream/consumers';
import { serveHttp } from '@turnpike/test-support/serveHttp';
import { isProbe } from '../support/isProbe.ts';
import { BYTES_PER_TOKEN, COUNTED_MODEL, COUNTED_WINDOW, type Counted } from './startCountingEngine.ts';

// A process of its own: the tests' may stand still for seconds, and the router would leave its engines out.

let counted: Counted = { prompts: 0, bodies: [] };

const { url } = await serveHttp(async (req, res) => {
  const send = (body: object) => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (req.method === 'GET')
    return send({ object: 'list', data: [{ id: COUNTED_MODEL, max_model_len: COUNTED_WINDOW }] });
  const text = await readText(req);
  if (req.url === '/tokenize') {
    counted.prompts += 1;
    return send({ count: Math.ceil(text.length / BYTES_PER_TOKEN) });
  }
  if (!isProbe(req)) counted.bodies.push({ max_tokens: JSON.parse(text).max_tokens });
  const choices = [
    { index: 0, text: 'Hello.', message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' },
  ];
  const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
  return send({ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: COUNTED_MODEL, choices, usage });
});
process.on('message', () => {
  process.send?.(counted);
  counted = { prompts: 0, bodies: [] };
});
process.on('disconnect', () => process.exit());
process.send?.({ url });
