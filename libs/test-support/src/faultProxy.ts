import { EventEmitter } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { LinkBehaviour } from './faultProxyBehaviour.ts';
import { pump } from './faultProxyPump.ts';
import { findFreePort } from './findFreePort.ts';

/** A TCP link between two processes that a test can spoil while it is in use. */
export interface FaultProxy {
  /** The port that users of the link connect to, on the loopback address. */
  readonly port: number;
  /** Connections open at this moment. */
  readonly connections: number;
  /**
   * Sets the link's behaviour from now on, for open connections too; `{}` passes everything on. Resolves once it is in
   * force.
   */
  become(behaviour: LinkBehaviour): Promise<void>;
  /** New connections lead to this port from now on, open ones stay where they are: a name that was given to another host. */
  redirect(targetPort: number): void;
  /** Loses the open connections for good: nothing passes on them, not even an end. New ones are as the behaviour says. */
  lose(): void;
  /** Resets every open connection. New ones are as the behaviour says. */
  reset(): void;
  /** Stops listening and cuts what is open. */
  close(): Promise<void>;
}

/** Opens a link to a port of the loopback address. It need not be listened on yet. */
export async function openFaultProxy(firstTargetPort: number): Promise<FaultProxy> {
  const pairs = new Set<() => void>();
  const lost = new Set<() => void>();
  const changes = new EventEmitter().setMaxListeners(0);
  let behaviour: LinkBehaviour = {};
  let targetPort = firstTargetPort;

  function accept(client: Socket): void {
    client.on('error', ignore);
    if (behaviour.resetOnAccept) {
      client.resetAndDestroy();
      return;
    }
    const gone = new AbortController();
    const target = connect({ host: '127.0.0.1', port: targetPort, allowHalfOpen: true });
    target.on('error', ignore);
    const forget = (): void => {
      pairs.delete(reset);
      lost.delete(reset);
    };
    const reset = (): void => {
      forget();
      gone.abort();
      client.resetAndDestroy();
      target.resetAndDestroy();
    };
    pairs.add(reset);
    const behaviourNow = (): LinkBehaviour => (lost.has(reset) ? { blackHole: true } : behaviour);
    // Packets that are lost take the news of a connection's end with them.
    const closeUnlessLost = (): void => {
      if (!behaviourNow().blackHole) reset();
    };
    for (const socket of [client, target])
      socket.setNoDelay(true).once('close', (hadError) => hadError && closeUnlessLost());
    const link = { behaviour: behaviourNow, changes, reset, signal: gone.signal };
    void Promise.all([
      pump({ ...link, from: client, to: target, direction: 'request' }),
      pump({ ...link, from: target, to: client, direction: 'reply' }),
    ]).then(forget, ignore);
  }

  // A reserved port, which the system gives to no other process while new connections are refused.
  const port = await findFreePort();
  let server = await listen(port, accept);

  return {
    port,
    get connections() {
      return pairs.size;
    },
    async become(next) {
      behaviour = next;
      changes.emit('change');
      if (next.refuse && server.listening) await close(server);
      else if (!next.refuse && !server.listening) server = await listen(port, accept);
    },
    redirect(port) {
      targetPort = port;
    },
    lose() {
      for (const reset of pairs) lost.add(reset);
      changes.emit('change');
    },
    reset: () => pairs.forEach((reset) => void reset()),
    async close() {
      const closed = server.listening ? close(server) : undefined;
      pairs.forEach((reset) => void reset());
      await closed;
    },
  };
}

/** A socket that breaks is closed, and what follows from that is told by `close`. */
function ignore(): void {}

function listen(port: number, accept: (socket: Socket) => void): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer({ allowHalfOpen: true }, accept);
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

/** Stops listening at once; does not wait for what is open. */
function close(server: Server): Promise<void> {
  server.close();
  return new Promise((resolve) => setImmediate(resolve));
}
