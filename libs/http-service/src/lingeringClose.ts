import type { Socket } from 'node:net';

/** Read and dropped of what a client still sends: more than the longest body of this API. One without end is cut then. */
const MAX_DROPPED_BYTES = 32 * 1_048_576;
/** A whole request may take as long. */
const LONGEST_MS = 120_000;
/** The connection ends after this silence of a client that does not close it. */
const SILENCE_MS = 5_000;

/**
 * Lingering close: ends what we send, then reads and drops what still comes until the client closes too. A connection that
 * is closed with bytes unread is reset, and the client's kernel throws away the answer that it has not read yet.
 */
export function lingeringClose(socket: Socket): void {
  let droppedBytes = 0;
  // The parser no longer listens, so that further bytes cost nothing but their reading.
  socket.removeAllListeners('data');
  socket.on('data', (chunk: Buffer) => {
    droppedBytes += chunk.length;
    if (droppedBytes > MAX_DROPPED_BYTES) socket.destroy();
  });
  // While the parser had it, the stream waited for bytes it never got, and would not ask for more of them.
  socket.push('');
  socket.resume();
  // The socket destroys itself once both sides have ended. A client that reads slowly has all the time it wants.
  socket.end(() => {
    if (socket.destroyed) return;
    const deadline = setTimeout(() => socket.destroy(), LONGEST_MS);
    socket.once('close', () => clearTimeout(deadline));
    socket.setTimeout(SILENCE_MS, () => socket.destroy());
  });
}
