import { createInterface } from 'node:readline/promises';
import type { ReadStream, WriteStream } from 'node:tty';
import { RefusedError, UsageError } from './operatorError.ts';

export interface Terminal {
  stdin: ReadStream;
  /** Questions go here, so that standard output holds nothing but the answer to the command. */
  stderr: WriteStream;
}

/** Asks to type `expected`, as `Context.confirm` promises. */
export async function confirm({ stdin, stderr }: Terminal, question: string, expected: string): Promise<void> {
  if (!stdin.isTTY || !stderr.isTTY)
    throw new UsageError('There is no terminal to ask for a confirmation at: add --yes to do it without one.');
  const lines = createInterface({ input: stdin, output: stderr });
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([lines.question(question), closed]);
    if (answer.trim() !== expected) throw new RefusedError(`That is not ${expected}: nothing was changed.`);
  } finally {
    lines.close();
  }
}
