import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { parseJson } from './engines/readAnswer.ts';
import type { Part } from './process/startParts.ts';
import { StackError } from './stackError.ts';

const MAX_NAME = 200;

const answerSchema = z.union([z.object({ done: z.string() }), z.object({ problem: z.string() })]);

/** The socket in the stack's folder. A relative path, because the path of a socket has 107 bytes at most. */
const socketOf = (stateDir: string): string => relative(process.cwd(), join(stateDir, 'restart.sock'));

/** Restarts parts of a stack that runs, one after the other, for `askRestart` of other processes. The caller has the lock of the folder. */
export async function serveRestarts(stateDir: string, replace: (part: string) => Promise<Part>): Promise<void> {
  const file = socketOf(stateDir);
  await rm(file, { force: true });
  let last: Promise<unknown> = Promise.resolve();
  const restart = async (name: string): Promise<z.infer<typeof answerSchema>> => {
    const startedAt = performance.now();
    try {
      const { pid, logFile } = await replace(name);
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
      return { done: `${name} runs again after ${seconds} s, as pid ${pid}. Its log is ${logFile}` };
    } catch (error) {
      return { problem: (error as Error).message };
    }
  };
  const server = createServer({ allowHalfOpen: true }, (peer) => {
    peer.on('error', () => peer.destroy());
    text(peer).then(
      (name) => {
        const turn = last.then(() => restart(name.slice(0, MAX_NAME)));
        last = turn;
        void turn.then((answer) => peer.end(JSON.stringify(answer)));
      },
      () => peer.destroy(),
    );
  }).unref();
  await once(server.listen(file), 'listening');
}

/**
 * Requests a restart of a part from a stack's launcher. Returns its answer once the part is ready. Throws a
 * `StackError` if no stack runs there, if it has no such part, or if the part does not become ready.
 */
export async function askRestart(stateDir: string, part: string, portBase: number): Promise<string> {
  const socket = connect({ path: socketOf(stateDir), allowHalfOpen: true });
  await once(socket, 'connect').catch((cause) => {
    throw new StackError(`No stack runs on port ${portBase}. PORT_BASE names another one.`, { cause });
  });
  socket.end(part);
  const answered = answerSchema.safeParse(parseJson(await text(socket).catch(() => '')));
  if (!answered.success) throw new StackError('The stack ended before the part was ready.');
  if ('problem' in answered.data) throw new StackError(answered.data.problem);
  return answered.data.done;
}
