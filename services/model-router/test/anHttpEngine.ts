import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Engine } from '../src/engines/engine.ts';
import { anEngine, type EngineFields } from './anEngine.ts';
import { listenAnywhere } from './listenAnywhere.ts';

/** An engine that listens, and what it saw. */
export interface HttpEngine {
  engine: Engine;
  /** The `x-request-id` of each request that came. */
  requestIds: string[];
  /** Requests whose connection went before they were answered to the end. */
  abortedRequests: number;
  close(): Promise<void>;
}

/** A serving engine on a port of its own that answers each call as `answer` says. */
export async function anHttpEngine(
  id: string,
  answer: (res: ServerResponse, req: IncomingMessage) => void,
  options: EngineFields = {},
): Promise<HttpEngine> {
  const server = createServer((req, res) => {
    opened.requestIds.push(String(req.headers['x-request-id']));
    res.on('close', () => {
      if (!res.writableFinished) opened.abortedRequests += 1;
    });
    req.resume();
    req.on('end', () => answer(res, req));
  });
  const origin = await listenAnywhere(server);
  const engine = anEngine(id, { origin, ...options });
  const opened: HttpEngine = {
    engine,
    requestIds: [],
    abortedRequests: 0,
    async close() {
      await engine.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
  return opened;
}
