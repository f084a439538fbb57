import { createLogger, type Logger } from './createLogger.ts';

/** A logger that writes nothing. */
export const aSilentLogger = (): Logger => createLogger({ service: 'test', level: 'silent' });
