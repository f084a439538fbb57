import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Logger } from '@turnpike/logging/createLogger';
import { isNode, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { repeat } from './repeat.ts';

/** Pause between two looks: a file that is mounted by exchanging a link tells no watcher. */
const ROUND_MS = 1_000;

export interface EntriesFileOptions<Entry> {
  /** The setting that names the file; begins what is said of it. */
  setting: string;
  /** From the file's JSON to its entries. */
  schema: z.ZodType<readonly Entry[]>;
  /**
   * Describes why entries may not take the place of those in force, as in `leaves 1 of 8 targets`. They may if it returns undefined, or the
   * file has `"force": true`.
   */
  describeLoss?: (latest: number, before: number) => string | undefined;
  onChange: () => void;
  log: Logger;
}

/** Why a file cannot be used while its last good content stays in force. */
export interface FileFault {
  /** The setting and the path of the file, and the mistakes in it. */
  reason: string;
  since: Date;
}

export interface EntriesFile<Entry> {
  entries(): readonly Entry[];
  /** Undefined while the entries are those of the file as it is. */
  fault(): FileFault | undefined;
  close(): Promise<void>;
}

/**
 * The entries of a JSON file, read again within a second of a change; then `onChange` is called. A file that cannot be used
 * leaves the last good entries in force and is logged, once for each content. Throws one line that says where and why if it
 * is so at the start.
 */
export function followEntriesFile<Entry>(
  file: string,
  { setting, schema, describeLoss, onChange, log }: EntriesFileOptions<Entry>,
): EntriesFile<Entry> {
  let text = readNow();
  let { entries } = parseEntriesFile(text, { file, setting, schema });
  /** Mistakes in the file. They stay while the file cannot be read. */
  let mistakes: FileFault | undefined;
  let unreadable: FileFault | undefined;

  function readNow(): string {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      throw new Error(`${setting} ${file} cannot be read: ${String(error)}`, { cause: error });
    }
  }

  function accept(latest: string): readonly Entry[] {
    const next = parseEntriesFile(latest, { file, setting, schema });
    const loss = next.isForced ? undefined : describeLoss?.(next.entries.length, entries.length);
    if (loss !== undefined) throw new Error(`${setting} ${file} is refused: it ${loss}`);
    return next.entries;
  }

  function take(latest: string): void {
    if (latest === text) return;
    text = latest;
    try {
      entries = accept(latest);
      mistakes = undefined;
      log.info({ file, entries: entries.length }, `${setting} read again`);
    } catch (error) {
      mistakes = toFault(error);
      log.error({ err: error, file }, `${setting} cannot be used: the last good one stays in force`);
      return;
    }
    onChange();
  }

  const looking = repeat(
    async (signal) => {
      const latest = await readFile(file, 'utf8').catch((error: unknown) => {
        unreadable ??= toFault(new Error(`${setting} ${file} cannot be read: ${String(error)}`));
        throw error;
      });
      unreadable = undefined;
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
  return { entries: () => entries, fault: () => unreadable ?? mistakes, close: looking.close };
}

const toFault = (error: unknown): FileFault => ({
  reason: error instanceof Error ? error.message : String(error),
  since: new Date(),
});

/** Returns the entries of a JSON text. Throws one line that says where and why it cannot be used. */
export function parseEntriesFile<Entry>(
  text: string,
  { file, setting, schema }: Pick<EntriesFileOptions<Entry>, 'setting' | 'schema'> & { file: string },
): { entries: readonly Entry[]; isForced: boolean } {
  try {
    const content: unknown = JSON.parse(text);
    const isForced = (content as { force?: unknown } | null)?.force === true;
    return { entries: schema.parse(content), isForced };
  } catch (error) {
    throw new Error(`${setting} ${file} cannot be used: ${toReason(error, text)}`, { cause: error });
  }
}

/** Returns the places and the reasons of an error in one line. */
function toReason(error: unknown, text: string): string {
  if (error instanceof z.ZodError)
    return error.issues
      .map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}${toLineWords(text, path)}`)
      .join('; ');
  return error instanceof Error ? error.message.replace(/\s+/g, ' ') : String(error);
}

/** Returns ` (line 3)` for a place in a JSON text. Empty for the file as a whole. */
function toLineWords(text: string, path: PropertyKey[]): string {
  const lineCounter = new LineCounter();
  // JSON is YAML, and this parser keeps the places of its values.
  const document = parseDocument(text, { lineCounter });
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return ` (line ${lineCounter.linePos(node.range[0]).line})`;
  }
  return '';
}
