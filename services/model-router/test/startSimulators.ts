import { fileURLToPath } from 'node:url';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { spawnBound } from '@turnpike/test-support/spawnBound';

const PROGRAM = fileURLToPath(new URL('../../../deploy/engine-simulator/src/main.ts', import.meta.url));
const READY_TIMEOUT_MS = 30_000;

/** Simulated engines of one model, each on a port of its own. */
export interface Simulators {
  ports: number[];
  /** How many calls each engine has seen, by its port; probes are none. */
  countCalls(): Promise<Map<number, number>>;
  /** Sends an order to the admin port. */
  order(what: 'faults' | 'config' | 'state', content: object): Promise<unknown>;
  /** Restarts all engines as they were at first. */
  reset(): Promise<void>;
  /** Stops the process in its tracks: its connections stay open and nothing answers. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

/** Starts `count` quick engines that serve `model`. */
export async function startSimulators(model: string, count: number): Promise<Simulators> {
  const ports = await Promise.all(Array.from({ length: count }, findFreePort));
  const adminPort = await findFreePort();
  const engines = ports.map((port) => ({ port, servedModelNames: [model], maxModelLen: 4_096 }));
  const settings = [`ADMIN_PORT=${adminPort}`, 'LISTEN_HOST=127.0.0.1', `SIMULATOR_ENGINES=${JSON.stringify(engines)}`];
  const child = spawnBound('env', [...settings, process.execPath, PROGRAM], { asNobody: false, cwd: process.cwd() });
  await child.untilOutput('serving', READY_TIMEOUT_MS);

  async function ask(what: string, init?: RequestInit): Promise<unknown> {
    const response = await fetch(`http://127.0.0.1:${adminPort}/admin/${what}`, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`the simulator answered ${response.status} to ${what}: ${text}`);
    return JSON.parse(text);
  }
  function order(what: string, content: object): Promise<unknown> {
    const headers = { 'content-type': 'application/json' };
    return ask(what, { method: 'POST', headers, body: JSON.stringify(content) });
  }
  const { engines: atFirst } = (await order('config', {})) as { engines: object[] };
  return {
    ports,
    async countCalls() {
      const { requests } = (await ask('requests')) as { requests: { port: number; requestId: string }[] };
      const calls = requests.filter(({ requestId }) => !requestId.startsWith('probe-'));
      return new Map(ports.map((port) => [port, calls.filter((call) => call.port === port).length]));
    },
    order,
    async reset() {
      await ask('faults', { method: 'DELETE' });
      for (const knobs of atFirst) await order('config', knobs);
      for (const state of ['dead', 'serving']) await order('state', { state });
    },
    freeze: () => void child.signal('SIGSTOP'),
    thaw: () => void child.signal('SIGCONT'),
    stop: () => child.end('SIGTERM'),
  };
}
