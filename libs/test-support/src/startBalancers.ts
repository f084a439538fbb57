import { request } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** One of several processes that connections may lead to. */
export interface BalancedProcess {
  port: number;
  /** Its listener with `GET /ready`. */
  internalPort: number;
}

export interface Balancers {
  /** Opens a port of the loopback address that leads each connection to one of these, in turn, of those that are ready. */
  open(processes: readonly BalancedProcess[]): Promise<number>;
  /** Stops listening and cuts what is open. */
  close(): Promise<void>;
}

const PROBE_INTERVAL_MS = 100;
/** A process that has gone refuses at once; one that a busy machine holds up is no less ready for it. */
const PROBE_TIMEOUT_MS = 10_000;

/**
 * TCP load balancers as Kubernetes' services are: a process that says it is not ready gets no new connection, and keeps those
 * it has. Where none is ready a connection is reset.
 */
export function startBalancers(): Balancers {
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  /** Readiness by internal port. Several balancers lead to one process. */
  const readiness = new Map<number, boolean>();
  const watches: NodeJS.Timeout[] = [];

  async function watch(internalPort: number): Promise<void> {
    if (readiness.has(internalPort)) return;
    readiness.set(internalPort, false);
    let isAsking = false;
    const ask = async (): Promise<void> => {
      if (isAsking) return;
      isAsking = true;
      readiness.set(internalPort, await isReady(internalPort));
      isAsking = false;
    };
    watches.push(setInterval(ask, PROBE_INTERVAL_MS));
    await ask();
  }

  function lead(client: Socket, port: number): void {
    const target = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true).pipe(other);
      socket.on('error', () => other.resetAndDestroy());
      socket.once('close', () => sockets.delete(socket));
    }
  }

  return {
    async open(processes) {
      await Promise.all(processes.map(({ internalPort }) => watch(internalPort)));
      let turn = 0;
      const server = createServer({ allowHalfOpen: true }, (client) => {
        const ready = processes.filter(({ internalPort }) => readiness.get(internalPort));
        const chosen = ready[turn++ % Math.max(ready.length, 1)];
        if (chosen) lead(client, chosen.port);
        else client.on('error', () => undefined).resetAndDestroy();
      });
      servers.push(server);
      return listen(server);
    },
    async close() {
      for (const timer of watches) clearInterval(timer);
      const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const asking = request({ port, path: '/ready', agent: false, timeout: PROBE_TIMEOUT_MS }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asking.once('timeout', () => asking.destroy(new Error('no answer')));
    asking.once('error', () => resolve(false));
    asking.end();
  });
}
