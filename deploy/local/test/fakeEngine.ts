import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

export interface FakeEngine {
  url: string;
  close(): Promise<void>;
}

/** Serves a test's answers as an engine. */
export const startFakeEngine = (answer: RequestListener): Promise<FakeEngine> => listen(createServer(answer));

/** Gives the address of any server and a way to end it that waits for no client. */
export async function listen(server: Server & { closeAllConnections?: () => void }): Promise<FakeEngine> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections?.();
      }),
  };
}

/** An engine by its answers: the status and body of GET /v1/models, and the status of GET /health. */
export function answering({
  models,
  status = 200,
  health = 200,
}: {
  models: unknown;
  status?: number;
  health?: number;
}) {
  const body = typeof models === 'string' ? models : JSON.stringify(models);
  const listener: RequestListener = (req, res) => {
    if (req.url === '/health') res.writeHead(health).end();
    else if (req.url === '/v1/models') res.writeHead(status, { 'content-type': 'text/html' }).end(body);
    else res.writeHead(404).end();
  };
  return listener;
}

/** A model list as vLLM gives it. */
export const aModelList = (...cards: object[]) => ({ object: 'list', data: cards });
