import { createServer } from 'node:net';
import type { z } from 'zod';
import type { ServedRequest } from '../../src/admin/requestLog.ts';
import { type EngineConfig, engineSchema } from '../../src/config.ts';
import { type Clock, systemClock } from '../../src/engine/clock.ts';
import { type Simulator, startSimulator } from '../../src/simulator.ts';

export const MODEL = 'test-model';

type EngineInput = { [Key in keyof z.input<typeof engineSchema>]?: z.input<typeof engineSchema>[Key] | undefined };

export interface TestSimulator extends Simulator {
  /** Base addresses of the engines, in the order they were asked for. */
  urls: string[];
  url: string;
  adminUrl: string;
}

/** A simulator on free ports whose engines cost no time, so that a test takes none unless it asks for some. */
export async function startTestSimulator(
  inputs: EngineInput[] = [{}],
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<TestSimulator> {
  for (let attempt = 1; ; attempt += 1) {
    const [adminPort = 0, ...ports] = await findFreePorts(inputs.length + 1);
    const engines = inputs.map((input, index) => toEngineConfig({ port: ports[index], ...input }));
    try {
      const simulator = await startSimulator({ listenHost: '127.0.0.1', adminPort, engines, clock });
      const urls = ports.map((port) => `http://127.0.0.1:${port}`);
      return { ...simulator, urls, url: urls[0] ?? '', adminUrl: `http://127.0.0.1:${adminPort}` };
    } catch (error) {
      if (attempt === 5) throw error; // a free port can be taken by somebody else before we listen on it
    }
  }
}

const toEngineConfig = (input: EngineInput): EngineConfig =>
  engineSchema.parse({
    servedModelNames: [MODEL],
    maxModelLen: 8_192,
    timeToFirstTokenMs: 0,
    interTokenMs: 0,
    ...input,
  });

async function findFreePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address ? address.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

export const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

/** A chat request whose last message is `content`. */
export const chat = (content: unknown, fields: object = {}): object => ({
  model: MODEL,
  messages: [{ role: 'user', content }],
  ...fields,
});

/** An order to the admin port; rejects when it is refused. */
export async function admin({ adminUrl }: TestSimulator, route: string, body: object): Promise<unknown> {
  const response = await post(`${adminUrl}/admin/${route}`, body);
  if (!response.ok) throw new Error(`/admin/${route} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

export const portOf = (url: string | undefined): number => Number(new URL(url ?? '').port);

/** The log's entry for an `x-request-id`, once it fulfils `condition`. */
export async function servedRequest(
  { adminUrl }: TestSimulator,
  requestId: string,
  condition: (entry: ServedRequest) => boolean = ({ state }) => state !== 'running',
): Promise<ServedRequest> {
  for (;;) {
    const answer = await fetch(`${adminUrl}/admin/requests?requestId=${requestId}`);
    const { requests } = (await answer.json()) as { requests: ServedRequest[] };
    const entry = requests.find(condition);
    if (entry) return entry;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
