import { type Logger, pino } from 'pino';

export type { Logger };

/**
 * One JSON line an entry, to standard output. Errors are logged by name, message and code, never with a stack that
 * could quote a body; callers pass ids and counts, never keys, prompts or completions.
 */
export function createLogger(fields: { service: string; region?: string; level?: string }): Logger {
  const { level = 'info', ...base } = fields;
  return pino({
    level,
    base,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: toLoggedError },
  });
}

function toLoggedError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const cause = error.cause === undefined ? undefined : toLoggedError(error.cause);
  const code = 'code' in error ? String(error.code) : undefined;
  // Where it was thrown is safe to log (our own file names); the message line of a stack is not repeated.
  const at = error.stack
    ?.split('\n')
    .find((line) => line.includes('/src/'))
    ?.trim();
  return { name: error.name, message: error.message.slice(0, 256), code, at, cause };
}
