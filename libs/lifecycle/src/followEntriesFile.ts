import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Logger } from '@turnpike/logging/createLogger';
import { z } from 'zod';
import { repeat } from './repeat.ts';

/** Pause between two looks: a file that is mounted by exchanging a link tells no watcher. */
const ROUND_MS = 1_000;

export interface EntriesFileOptions<Entry> {
  /** The setting that names the file; begins what is said of it. */
  setting: string;
  /** From the file's JSON to its entries. */
  schema: z.ZodType<readonly Entry[]>;
  onChange: () => void;
  log: Logger;
}

export interface EntriesFile<Entry> {
  entries(): readonly Entry[];
  close(): Promise<void>;
}

/**
 * The entries of a JSON file, read again within a second of a change; then `onChange` is called. A file that cannot be used
 * leaves the last good entries in force and is logged, once for each content. Throws one line that says where and why if it
 * is so at the start.
 */
export function followEntriesFile<Entry>(
  file: string,
  { setting, schema, onChange, log }: EntriesFileOptions<Entry>,
): EntriesFile<Entry> {
  let text = readNow();
  let entries = parse(text);

  function readNow(): string {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      throw new Error(`${setting} ${file} cannot be read: ${String(error)}`, { cause: error });
    }
  }

  function parse(latest: string): readonly Entry[] {
    try {
      return schema.parse(JSON.parse(latest));
    } catch (error) {
      throw new Error(`${setting} ${file} cannot be used: ${toReason(error)}`, { cause: error });
    }
  }

  function take(latest: string): void {
    if (latest === text) return;
    text = latest;
    try {
      entries = parse(latest);
      log.info({ file, entries: entries.length }, `${setting} read again`);
    } catch (error) {
      log.error({ err: error, file }, `${setting} cannot be used: the last good one stays in force`);
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
      pauseMs: ROUND_MS,
      pausesFirst: true,
      log,
      failing: `${setting} ${file} cannot be read: the last good one stays in force`,
      level: 'error',
    },
  );
  return { entries: () => entries, close: looking.close };
}

/** Returns the place and the reason of an error in one line. */
function toReason(error: unknown): string {
  if (error instanceof z.ZodError)
    return error.issues.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`).join('; ');
  return error instanceof Error ? error.message.replace(/\s+/g, ' ') : String(error);
}
