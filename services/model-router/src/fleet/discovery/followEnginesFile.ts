import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Logger } from '@turnpike/logging/createLogger';
import { type EngineEntry, parseEngineEntries } from './engineEntries.ts';

/** Polled, as a file that is mounted by exchanging a link tells no watcher. */
const POLL_MS = 1_000;

export interface EnginesFile {
  entries(): readonly EngineEntry[];
  close(): void;
}

/**
 * The entries of the engines file, read again within a second of a change; then `onChange` is called. A file that cannot be
 * used leaves the last good entries in force and is logged, once for each content. Throws if it is so at the start.
 */
export function followEnginesFile(file: string, { onChange, log }: { onChange: () => void; log: Logger }): EnginesFile {
  let text = read(file);
  let entries = parseEngineEntries(file, text);
  let isUnreadable = false;

  async function look(): Promise<void> {
    try {
      take(await readFile(file, 'utf8'));
      isUnreadable = false;
    } catch (error) {
      if (!isUnreadable)
        log.error({ err: error, file }, 'engines file cannot be read: the last good one stays in force');
      isUnreadable = true;
    }
  }

  function take(latest: string): void {
    if (isClosed || latest === text) return;
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

  let isClosed = false;
  let timer: NodeJS.Timeout;
  const schedule = (): void => {
    timer = setTimeout(() => void look().finally(() => !isClosed && schedule()), POLL_MS);
    timer.unref();
  };
  schedule();
  return {
    entries: () => entries,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`ENGINES_FILE ${file} cannot be read: ${String(error)}`, { cause: error });
  }
}
