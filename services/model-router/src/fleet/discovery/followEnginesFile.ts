import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { FILE_ROUND_MS } from '../terms/limits.ts';
import { type EngineEntry, parseEngineEntries } from './engineEntries.ts';

export interface EnginesFile {
  entries(): readonly EngineEntry[];
  close(): Promise<void>;
}

/**
 * The entries of the engines file, read again within a second of a change; then `onChange` is called. A file that cannot be
 * used leaves the last good entries in force and is logged, once for each content. Throws if it is so at the start.
 */
export function followEnginesFile(file: string, { onChange, log }: { onChange: () => void; log: Logger }): EnginesFile {
  let text = read(file);
  let entries = parseEngineEntries(file, text);

  function take(latest: string): void {
    if (latest === text) return;
    text = latest;
    try {
      entries = parseEngineEntries(file, latest);
      log.info({ file, entries: entries.length }, 'engines file read again');
    } catch (error) {
      log.error({ err: error, file }, 'engines file cannot be used: the last good one stays in force');
      return;
    }
    onChange();
  }

  const looking = repeat(
    async (signal) => {
      const latest = await readFile(file, 'utf8');
      if (!signal.aborted) take(latest);
    },
    {
      pauseMs: FILE_ROUND_MS,
      pausesFirst: true,
      log,
      failing: `engines file ${file} cannot be read: the last good one stays in force`,
      level: 'error',
    },
  );
  return { entries: () => entries, close: looking.close };
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`ENGINES_FILE ${file} cannot be read: ${String(error)}`, { cause: error });
  }
}
