import { createLogger, type Logger } from '@turnpike/logging/createLogger';

/** A logger that writes nothing. */
export const aSilentLogger = (): Logger => createLogger({ service: 'test', level: 'silent' });
