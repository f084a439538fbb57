import { findFreePort } from '@turnpike/test-support/findFreePort';
import type { z } from 'zod';
import type { ServedRequest } from '../../src/admin/requestLog.ts';
import { type EngineConfig, engineSchema } from '../../src/config.ts';
import { type Clock, systemClock } from '../../src/engine/clock.ts';
import { type Simulator, startSimulator } from '../../src/simulator.ts';

export const MODEL = 'test-model';

type EngineInput = { [Key in keyof z.input<typeof engineSchema>]?: z.input<typeof engineSchema>[Key] | undefined };

export interface TestSimulator extends Simulator {
  /** Base addresses of the engines, in the given order. */
  urls: string[];
  url: string;
  adminUrl: string;
}

/** A simulator on free ports whose engines take no time, unless a test sets some. */
export async function startTestSimulator(
  inputs: EngineInput[] = [{}],
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<TestSimulator> {
  const adminPort = await findFreePort();
  const engines: EngineConfig[] = [];
  for (const input of inputs) engines.push(toEngineConfig({ port: await findFreePort(), ...input }));
  const simulator = await startSimulator({ listenHost: '127.0.0.1', adminPort, engines, clock });
  const urls = engines.map(({ port }) => `http://127.0.0.1:${port}`);
  return { ...simulator, urls, url: urls[0] ?? '', adminUrl: `http://127.0.0.1:${adminPort}` };
}

const toEngineConfig = (input: EngineInput): EngineConfig =>
  engineSchema.parse({
    servedModelNames: [MODEL],
    maxModelLen: 8_192,
    timeToFirstTokenMs: 0,
    interTokenMs: 0,
    ...input,
  });

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
