import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { until } from '@turnpike/test-support/until';
import type { FaultKind } from '../../src/faults/fault.ts';
import type { Knobs } from '../../src/knobs.ts';
import { type MediaSimulatorOptions, startMediaSimulator } from '../../src/mediaSimulator.ts';
import type { VideoJob } from '../../src/replica/jobRecords.ts';
import type { RenderEntry, RequestEntry } from '../../src/replica/replicaLog.ts';
import type { Route } from '../../src/wire/routes.ts';

export const MODEL = 'test-model';

interface Log {
  totals: Record<string, number>;
  requests: RequestEntry[];
  renders: RenderEntry[];
}

interface State {
  running: RenderEntry[];
  waiting: RenderEntry[];
  jobs: VideoJob[];
  files: { name: string; bytes: number }[];
}

export interface Rule {
  match?: { route?: Route; model?: string; nth?: number; everyNth?: number; probability?: number };
  fault: FaultKind;
  times?: number;
  afterBytes?: number;
  byteMs?: number;
}

/** A replica on free ports with a folder of its own, and its side door as functions. */
export interface TestReplica {
  url: string;
  get(path: string): Promise<Response>;
  postJson(path: string, body: object): Promise<Response>;
  postForm(path: string, fields: Record<string, string | Blob>): Promise<Response>;
  delete(path: string): Promise<Response>;
  /** An order to the admin port; rejects when it is refused. */
  admin(path: string, body?: object): Promise<unknown>;
  configure(knobs: Partial<Knobs>): Promise<unknown>;
  addFaults(...rules: Rule[]): Promise<unknown>;
  clearFaults(): Promise<unknown>;
  log(): Promise<Log>;
  state(): Promise<State>;
  /** The log's entry of the last request of a route, once that is over. */
  lastRequest(route: Route): Promise<RequestEntry>;
  /** Ends the process, as it were, and starts another one on the same ports and folder. */
  startAgain(): Promise<void>;
  close(): Promise<void>;
}

export async function startTestReplica(
  personality: MediaSimulatorOptions['personality'],
  { clock = 'system', ...knobs }: Partial<Knobs> & { clock?: 'system' | 'virtual' } = {},
): Promise<TestReplica> {
  const dataDir = await mkdtemp(join(tmpdir(), 'turnpike-media-'));
  const [port, adminPort] = [await findFreePort(), await findFreePort()];
  const options = { listenHost: '127.0.0.1', port, adminPort, personality, model: MODEL, dataDir, clock, knobs };
  options.knobs = { renderBaseMs: 0, ...knobs };
  let simulator = await startMediaSimulator(options);
  const url = `http://127.0.0.1:${port}`;
  const adminUrl = `http://127.0.0.1:${adminPort}/admin`;
  const json = { 'content-type': 'application/json' };

  async function readAdmin<T>(path: string): Promise<T> {
    return (await (await fetch(`${adminUrl}/${path}`)).json()) as T;
  }
  async function admin(path: string, body: object = {}): Promise<unknown> {
    const response = await fetch(`${adminUrl}/${path}`, { method: 'POST', headers: json, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`/admin/${path} answered ${response.status}: ${await response.text()}`);
    return response.json();
  }

  return {
    url,
    get: (path) => fetch(url + path),
    postJson: (path, body) => fetch(url + path, { method: 'POST', headers: json, body: JSON.stringify(body) }),
    postForm(path, fields) {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      return fetch(url + path, { method: 'POST', body: form });
    },
    delete: (path) => fetch(url + path, { method: 'DELETE' }),
    admin,
    configure: (changes) => admin('config', changes),
    addFaults: (...rules) => admin('faults', rules),
    clearFaults: () => fetch(`${adminUrl}/faults`, { method: 'DELETE' }),
    log: () => readAdmin<Log>('log'),
    state: () => readAdmin<State>('state'),
    lastRequest: (route) =>
      until(`the end of ${route}`, async () => {
        const { requests } = await readAdmin<Log>('log');
        const last = requests.findLast((entry) => entry.route === route);
        return last?.endedAt === null ? undefined : last;
      }),
    async startAgain() {
      await simulator.close();
      simulator = await startMediaSimulator(options);
    },
    async close() {
      await simulator.close();
      await rm(dataDir, { recursive: true });
    },
  };
}
