import type { Socket } from 'node:net';

/** Most bytes of a client that are read and dropped, above the longest body of this API. Then the connection is cut. */
const MAX_DROPPED_BYTES = 32 * 1_048_576;
/** Longest linger, the time of a whole request. */
const LONGEST_MS = 120_000;
/** The connection ends after this silence of a client that does not close it. */
const SILENCE_MS = 5_000;

/**
 * Ends the sending side, then reads and drops the client's bytes until the client closes too (lingering close). A
 * connection that is closed with unread bytes is reset, and then the client's kernel drops the answer that it has not
 * read.
 */
export function lingeringClose(socket: Socket): void {
  let droppedBytes = 0;
  // The parser no longer listens, so that further bytes cost nothing but their reading.
  socket.removeAllListeners('data');
  socket.on('data', (chunk: Buffer) => {
    droppedBytes += chunk.length;
    if (droppedBytes > MAX_DROPPED_BYTES) socket.destroy();
  });
  // Under the parser the stream waited for bytes that it never got, and would not request more of them.
  socket.push('');
  socket.resume();
  // The socket destroys itself once both sides have ended. A client that reads slowly has enough time.
  socket.end(() => {
    if (socket.destroyed) return;
    const deadline = setTimeout(() => socket.destroy(), LONGEST_MS);
    socket.once('close', () => clearTimeout(deadline));
    socket.setTimeout(SILENCE_MS, () => socket.destroy());
  });
}
