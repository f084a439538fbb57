import type { Scope } from '@turnpike/config/region';
import { type Logger, pino } from 'pino';
import { toLoggedError } from './toLoggedError.ts';

export type { Logger };

/** Most bytes that a pipe takes whole or not at all. */
export const PIPE_BYTES = 4_096;
/** Most bytes of lines that wait. Further lines are dropped. */
const MOST_WAITING_BYTES = 1_048_576;

/**
 * One JSON line an entry, to standard output. Errors are logged as `toLoggedError` says; callers pass ids and counts, never
 * keys, prompts or completions. Lines wait in memory for a reader that does not read, a MiB of them.
 */
export function createLogger(fields: { service: string; scope?: Scope; level?: string }): Logger {
  const { level = 'info', ...base } = fields;
  return pino(
    {
      level,
      base,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: toLoggedError },
    },
    // A pipe may take a part of a longer write, and lines of the access log would come within one of these.
    pino.destination({ maxWrite: PIPE_BYTES, maxLength: MOST_WAITING_BYTES }),
  );
}

/** A logger that writes nothing. */
export const aSilentLogger = (): Logger => createLogger({ service: 'test', level: 'silent' });
