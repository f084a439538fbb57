import { type ClientRequest, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { EngineFields } from './anEngine.ts';
import { anHttpEngine, type HttpEngine } from './anHttpEngine.ts';
import { engineChunks } from './engineChunks.ts';
import { type ServedCall, serveCall } from './serveCall.ts';

/** A request that wants a tool called. */
export const FORCED_TOOL = {
  stream: true,
  tool_choice: 'required',
  tools: [{ type: 'function', function: { name: 'look_up' } }],
};

/** A client that keeps what it has read so far. */
export interface ReadingClient {
  status: number | undefined;
  headers: IncomingMessage['headers'];
  text: () => string;
  ended: () => boolean;
  request: ClientRequest;
}

/** Begins an engine's stream. */
export function begin(res: ServerResponse, ...events: string[]): ServerResponse {
  res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  res.flushHeaders();
  if (events.length > 0) res.write(events.join(''));
  return res;
}

/** Engines, calls and clients of one test file, all closed by `closeAll`. */
export function createStreamHouse() {
  const closers: (() => unknown)[] = [];

  async function engineThat(
    answer: (res: ServerResponse) => void,
    id = 'engine-1',
    options: EngineFields = {},
  ): Promise<HttpEngine> {
    const engine = await anHttpEngine(id, answer, options);
    closers.push(() => engine.close());
    return engine;
  }

  /** A client that has its answer's headers and has read nothing yet. */
  function ask(url: string): Promise<{ request: ClientRequest; answer: IncomingMessage }> {
    return new Promise((resolve, reject) => {
      const request = get(url, { agent: false }, (answer) => {
        answer.on('error', () => {});
        resolve({ request, answer });
      });
      request.on('error', reject);
      closers.push(() => request.destroy());
    });
  }

  return {
    engineThat,
    ask,
    /** An engine that begins a stream with these events, and leaves it to the test to go on. */
    engineThatSends: (...events: string[]) => engineThat((res) => void begin(res, ...events)),
    engineThatCompletes: (id: string) =>
      engineThat((res) => void begin(res, engineChunks.text('whole')).end(engineChunks.ending(3)), id),
    /** A call that is streamed from engines, tried in the order given. */
    async streamed(
      engines: HttpEngine[],
      options: Omit<Parameters<typeof serveCall>[0], 'engines'> = {},
    ): Promise<ServedCall> {
      const served = await serveCall({ engines: engines.map(({ engine }) => engine), ...options });
      closers.push(() => served.close());
      return served;
    },
    async connect(url: string): Promise<ReadingClient> {
      const { request, answer } = await ask(url);
      const parts: Buffer[] = [];
      let hasEnded = false;
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.on('end', () => {
        hasEnded = true;
      });
      return {
        status: answer.statusCode,
        headers: answer.headers,
        text: () => Buffer.concat(parts).toString('utf8'),
        ended: () => hasEnded,
        request,
      };
    },
    async closeAll(): Promise<void> {
      await Promise.all(closers.splice(0).map((close) => close()));
    },
  };
}
