import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { StackError } from '@turnpike/local-stack/stackError';
import { SCRIPTS } from './paths.ts';

const LINES_KEPT = 20;

/**
 * Runs a script and says each line that it writes, as it comes. Throws a `StackError` with the last of them where it fails;
 * its own last word where that is an error in one line.
 */
export async function runScript(
  name: string,
  { args = [], folder = SCRIPTS, say }: { args?: readonly string[]; folder?: string; say: (line: string) => void },
): Promise<void> {
  const child = spawn(`${folder}${name}`, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const last: string[] = [];
  const read = (stream: NodeJS.ReadableStream): void => {
    createInterface({ input: stream }).on('line', (line) => {
      if (last.push(line) > LINES_KEPT) last.shift();
      say(line);
    });
  };
  read(child.stdout);
  read(child.stderr);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (error) => reject(new StackError(`${name} could not be started: ${error.message}`)));
    child.once('close', resolve);
  });
  if (code === 0) return;
  const word = /^error: (.+)$/.exec(last.at(-1) ?? '')?.[1];
  throw new StackError(word ?? `${name} ended with code ${code}:\n${last.join('\n')}`);
}
