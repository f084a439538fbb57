import type { Fault } from '../faults/fault.ts';
import { EngineError } from '../wire/engineError.ts';

const REFUSALS: Partial<Record<Fault['kind'], [status: number, message: string]>> = {
  refuse_500: [500, 'Internal server error'],
  refuse_503: [503, 'The server is busy, please try again later.'],
  refuse_503_retry_after: [503, 'The server is busy, please try again later.'],
  refuse_429: [429, 'Too many requests'],
  refuse_404: [404, 'Not Found'],
  refuse_401: [401, 'Unauthorized'],
  refuse_409: [409, 'Cancellation in progress. Please try again later.'],
};

/** Throws what is answered in place of the engine, where the fault is a refusal: nothing has been begun then. */
export function refuseByFault(fault: Fault | undefined): void {
  const [status, message] = (fault && REFUSALS[fault.kind]) ?? [];
  if (status !== undefined) throw new EngineError(status, message ?? '');
}
