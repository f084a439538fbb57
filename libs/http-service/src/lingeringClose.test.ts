import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { lingeringClose } from './lingeringClose.ts';

const MEBIBYTE = 1_048_576;

let server: Server;
beforeAll(async () => {
  // Answers what comes first, and closes.
  server = createServer({ allowHalfOpen: true }, (socket) =>
    socket
      .on('error', () => {})
      .once('data', () => {
        socket.write('answer');
        lingeringClose(socket);
      }),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => void server.close());

async function open(): Promise<{ socket: Socket; closed: Promise<unknown> }> {
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  return { socket, closed };
}

it('a client that reads the answer only after it has sent everything has it whole', async () => {
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const { socket, closed } = await open();
    socket.pause();
    await new Promise((resolve) => socket.write(Buffer.alloc(24 * MEBIBYTE), resolve));
    const answer: Buffer[] = [];
    socket.on('data', (chunk) => answer.push(chunk)).resume();
    socket.once('end', () => socket.end());
    await closed;
    expect(Buffer.concat(answer).toString()).toBe('answer');
  }
});

it('a client that never stops sending is cut', async () => {
  const { socket, closed } = await open();
  const piece = Buffer.alloc(MEBIBYTE);
  const send = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', send).resume();
  send();
  await closed;
  expect(socket.bytesWritten).toBeLessThan(64 * MEBIBYTE);
});

it('a client that neither sends nor closes is cut', async () => {
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const { socket } = await open();
  socket.resume().write('x');
  const [accepting] = await accepted;
  await once(socket, 'end');
  await once(accepting, 'close');
  socket.destroy();
});
