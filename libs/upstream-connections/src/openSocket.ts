import { connect, isIP, type NetConnectOpts, type OnReadOpts, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectEncrypted } from 'node:tls';
import { startDeadline } from '@turnpike/lifecycle/startDeadline';

/** The upstream has seen nothing of the request. */
export class NotSentError extends Error {
  override name = 'NotSentError';
}

/**
 * Opens a TCP connection. Rejects as the system refuses it, or with a `NotSentError` after `timeoutMs`: an upstream that is busy
 * lets connections wait, and its kernel drops some, which come again after 1, 3 and 7 s.
 */
export const openSocket = (options: NetConnectOpts, { timeoutMs }: { timeoutMs: number }): Promise<Socket> =>
  untilOpen(connect(options), 'connect', timeoutMs);

/** The same with TLS, whose handshake is within the time as well. The certificate has to be one of the host's. */
export const openEncryptedSocket = (
  options: Pick<ConnectionOptions, 'port' | 'ca'> & { host: string; noDelay?: boolean; onread?: OnReadOpts },
  { timeoutMs }: { timeoutMs: number },
): Promise<Socket> => {
  const { host } = options;
  const socket = connectEncrypted({ ...options, servername: isIP(host) ? '' : host, ALPNProtocols: ['http/1.1'] });
  return untilOpen(socket, 'secureConnect', timeoutMs);
};

const hearNothing = (): void => {};

function untilOpen(socket: Socket, opened: 'connect' | 'secureConnect', timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => void socket.destroy(new NotSentError(`not connected within ${Math.ceil(timeoutMs)} ms`));
    // If this process was held up itself, a connection that is open but was not seen yet comes first.
    const { stop: stopWaiting } = startDeadline(Math.max(0, timeoutMs), giveUp);
    socket.once(opened, () => {
      stopWaiting();
      // A connection may last for long: nothing of this is kept with it. Whoever gets it hears of errors a moment later, and one that
      // nobody hears would end the process.
      socket.off('error', reject).off('close', stopWaiting).on('error', hearNothing);
      resolve(socket);
    });
    socket.once('error', reject);
    socket.once('close', stopWaiting);
  });
}
