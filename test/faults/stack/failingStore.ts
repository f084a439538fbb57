import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Random } from '../load/random.ts';

/** A server before the object store that fails some of its requests, and passes all else on as it is. */
export interface FailingStore {
  port: number;
  /** Requests that were refused, and those that were done without a word. */
  readonly failed: Record<Failure, number>;
  close(): Promise<void>;
}

type Failure = 'refused' | 'unanswered';

/** Share of the objects whose deletes fail. */
const SHARE = 0.3;
/** Failed requests an object. The store's client sends up to three requests for a delete, so that one or two deletes fail. */
const TIMES: [number, number] = [3, 6];
const REFUSAL = '<?xml version="1.0"?><Error><Code>ServiceUnavailable</Code><Message>Try again.</Message></Error>';

/** Fails some deletes of a store that listens on this port of the loopback address. */
export function failDeletes(storePort: number, random: Random): Promise<FailingStore> {
  /** Deletes of each object that are still to fail, and how. */
  const left = new Map<string, { times: number; kind: Failure }>();
  return failRequests(storePort, (method, url) => {
    if (method !== 'DELETE') return undefined;
    let object = left.get(url);
    if (!object) {
      const times = random.share() < SHARE ? random.between(...TIMES) : 0;
      object = { times, kind: random.share() < 0.5 ? 'refused' : 'unanswered' };
      left.set(url, object);
    }
    object.times -= 1;
    return object.times >= 0 ? object.kind : undefined;
  });
}

/** Refuses every write to a store that listens on this port of the loopback address, as one that is full does. */
export const refuseWrites = (storePort: number): Promise<FailingStore> =>
  failRequests(storePort, (method) => (method === 'PUT' || method === 'POST' ? 'refused' : undefined));

async function failRequests(
  storePort: number,
  findFailure: (method: string, url: string) => Failure | undefined,
): Promise<FailingStore> {
  const agent = new Agent({ keepAlive: true });
  const failed = { refused: 0, unanswered: 0 };

  function pass(req: IncomingMessage, res: ServerResponse): void {
    const failure = findFailure(req.method ?? '', req.url ?? '');
    if (failure) failed[failure] += 1;
    if (failure === 'refused') {
      req.resume();
      res.writeHead(503, { 'content-type': 'application/xml' }).end(REFUSAL);
      return;
    }
    // With the host that its signature names.
    const { method, url: path, headers } = req;
    const passed = request({ host: '127.0.0.1', port: storePort, agent, method, path, headers }, (answer) => {
      answer.on('error', () => res.destroy());
      if (failure === 'unanswered') {
        answer.resume().once('end', () => res.destroy());
        return;
      }
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    passed.on('error', () => res.destroy());
    res.once('close', () => passed.destroy());
    req.on('error', () => passed.destroy()).pipe(passed);
  }

  const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0 }, pass);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    failed,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        agent.destroy();
      }),
  };
}
