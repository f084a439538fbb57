import { createLogger, type Logger } from '@turnpike/logging/createLogger';

export interface TestLog {
  log: Logger;
  /** Fields of each error that the service has logged. */
  errors(): Record<string, unknown>[];
  /** Messages of the lines about what is in force. */
  notices(): string[];
}

/** A logger that prints nothing and keeps the errors for the test to look at. */
export function listenToLog(): TestLog {
  const errors: Record<string, unknown>[] = [];
  const notices: string[] = [];
  const log = createLogger({ service: 'catalog', level: 'silent' });
  log.error = (fields: unknown) => void errors.push(Object(fields));
  log.info = (_fields: unknown, message?: string) => void notices.push(message ?? '');
  return { log, errors: () => errors, notices: () => notices };
}
