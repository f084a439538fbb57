import type { Logger } from '@turnpike/logging/createLogger';
import type { Response } from 'express';

/** A log whose lines name the request, and the call once it has an id. Made when there is something to say, not before. */
export function toRequestLog(log: Logger, res: Response): Logger {
  return log.child({ requestId: res.getHeader('x-request-id'), callId: res.getHeader('x-router-call-id') });
}
