import { openEncryptedSocket, openSocket } from '@turnpike/upstream-connections/openSocket';
import { UpstreamConnections } from '@turnpike/upstream-connections/upstreamConnections';
import { CONNECT_TIMEOUT_MS, IDLE_CONNECTION_MS, MAX_CONNECTING, MAX_IDLE_CONNECTIONS } from './terms/limits.ts';

/** Errors by which an engine's host, or its name server, says that nobody listens. Any other may be this router's own trouble. */
const REFUSALS = new Set<unknown>(['ECONNREFUSED', 'ENOTFOUND']);

/** Whether an error says that there is no engine. */
export const isRefusal = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && REFUSALS.has(error.code);

/** The connections that carry calls to an engine. Each is opened when a call needs it. */
export function openEngineConnections(origin: string): UpstreamConnections {
  const { protocol, hostname, port } = new URL(origin);
  const isEncrypted = protocol === 'https:';
  const address = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (isEncrypted ? 443 : 80)),
    noDelay: true,
  };
  const open = isEncrypted ? openEncryptedSocket : openSocket;
  return new UpstreamConnections({
    connect: (onread) => open({ ...address, onread }, { timeoutMs: CONNECT_TIMEOUT_MS }),
    maxConnecting: MAX_CONNECTING,
    idleMs: IDLE_CONNECTION_MS,
    maxIdle: MAX_IDLE_CONNECTIONS,
  });
}
