import { open } from 'node:fs/promises';

const LINES = 12;
const BYTES = 16 * 1024;

/** The last lines a part wrote, indented for a message; a note where it wrote nothing. */
export async function readLogTail(logFile: string): Promise<string> {
  const file = await open(logFile).catch(() => undefined);
  if (!file) return '  (it wrote no log)';
  try {
    const { size } = await file.stat();
    const length = Math.min(size, BYTES);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    const lines = buffer.toString('utf8').trimEnd().split('\n').slice(-LINES);
    return lines.join('') === '' ? '  (its log is empty)' : lines.map((line) => `  ${line}`).join('\n');
  } finally {
    await file.close();
  }
}
