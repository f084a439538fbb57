import type { Logger } from '@turnpike/logging/createLogger';
import { CALL_ID_HEADER, REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import type { Response } from 'express';
import { internalCallerOf } from './guard.ts';

/** A log whose lines name the request, and the call once it has an id. Made when there is something to say, not before. */
export function toRequestLog(log: Logger, res: Response): Logger {
  return log.child({ requestId: res.getHeader(REQUEST_ID_HEADER), callId: res.getHeader(CALL_ID_HEADER) });
}

/**
 * A log for the line that a change leaves on an internal route: it names the request, and who asked. What was changed is told by
 * ids, states and amounts; names and notes are customers' own.
 */
export function toChangeLog(log: Logger, res: Response): Logger {
  return toRequestLog(log, res).child({ who: internalCallerOf(res) });
}
