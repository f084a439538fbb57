import { text as readText } from 'node:stream/consumers';
import { serveHttp } from '@turnpike/test-support/serveHttp';
import { isProbe } from '../../support/isProbe.ts';

/** An answer of the engine in place of its usual one. */
export interface Reply {
  status: number;
  body: object;
}

/** An engine that keeps what it is sent. */
export interface RecordingEngine {
  url: string;
  /** The latest body, as it came. */
  lastText(): string;
  lastBody(): Record<string, unknown>;
  /** Every body that came since this was asked last, calls for counting tokens among them. */
  takeAll(): { path: string; text: string }[];
  /** How many calls of clients came so far. */
  count(): number;
  /** Gives every client's call this answer, until it is called with nothing. */
  reply(reply?: Reply): void;
  stop(): Promise<void>;
}

/** The usage of every whole answer. */
const RECORDED_USAGE = {
  prompt_tokens: 20,
  completion_tokens: 3,
  total_tokens: 23,
  prompt_tokens_details: { cached_tokens: 16 },
};

/** A server of the public chat API with whole answers alone, but for streams of one chunk, under each of the names. */
export async function startRecordingEngine(servedNames: string[]): Promise<RecordingEngine> {
  const texts: string[] = [];
  let untaken: { path: string; text: string }[] = [];
  let reply: Reply | undefined;
  const { url, close } = await serveHttp(async (req, res) => {
    const send = (status: number, body: object) =>
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (req.method === 'GET') return send(200, { object: 'list', data: servedNames.map((id) => ({ id })) });
    const text = await readText(req);
    if (!isProbe(req)) untaken.push({ path: req.url ?? '', text });
    if (req.url === '/tokenize') return send(404, {});
    if (!isProbe(req)) texts.push(text);
    if (reply && !isProbe(req)) return send(reply.status, reply.body);
    const { model, stream } = JSON.parse(text) as { model: string; stream?: boolean };
    const answer = { ...toAnswer(req.url ?? ''), model, system_fingerprint: 'fp_engine' };
    if (stream !== true) return send(200, answer);
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    return res.end(
      `${toChunks(req.url ?? '', model)
        .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
        .join('')}data: [DONE]\n\n`,
    );
  });
  const lastText = () => texts.at(-1) ?? '';
  return {
    url,
    lastText,
    lastBody: () => JSON.parse(lastText()),
    takeAll() {
      const taken = untaken;
      untaken = [];
      return taken;
    },
    count: () => texts.length,
    reply(next) {
      reply = next;
    },
    stop: close,
  };
}

function toAnswer(path: string): object {
  const shared = { id: 'answer-1', created: 1_700_000_000 };
  if (path.endsWith('/embeddings')) {
    const usage = { prompt_tokens: 5, total_tokens: 5, completion_tokens: 0, prompt_tokens_details: null };
    return { ...shared, object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5, -0.5] }], usage };
  }
  const choice = path.endsWith('/chat/completions')
    ? { message: { role: 'assistant', content: 'Hello.', tool_calls: [aToolCall] }, finish_reason: 'tool_calls' }
    : { text: 'Hello.', finish_reason: 'stop' };
  const object = path.endsWith('/chat/completions') ? 'chat.completion' : 'text_completion';
  return { ...shared, object, choices: [{ index: 0, ...choice }], usage: RECORDED_USAGE };
}

const aToolCall = { id: 'call_1', type: 'function', function: { name: 'forecast', arguments: '{}' } };

function toChunks(path: string, model: string): object[] {
  const isChat = path.endsWith('/chat/completions');
  const object = isChat ? 'chat.completion.chunk' : 'text_completion';
  const said = isChat ? { delta: { role: 'assistant', content: 'Hello.' } } : { text: 'Hello.' };
  const shared = { id: 'answer-1', object, created: 1_700_000_000, model, system_fingerprint: 'fp_engine' };
  return [
    { ...shared, choices: [{ index: 0, ...said, finish_reason: 'stop' }] },
    { ...shared, choices: [], usage: RECORDED_USAGE },
  ];
}
