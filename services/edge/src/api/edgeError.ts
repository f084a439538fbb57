import { toInternalError } from '@turnpike/http-service/createHttpApp';
import { floodReset, NEVER_RETRY, retryAfter } from '@turnpike/public-api/headers';
import { bare, flat, notServed, throttled, unavailable, type WireError } from '@turnpike/public-api/wireError';
import type { UnsupportedOperation } from '../paths/findUnsupportedOperation.ts';
import { UPSTREAMS, type Upstream } from '../paths/upstream.ts';

/** Why the edge itself refuses a request, or cannot pass it on. */
export type EdgeFault =
  | { kind: 'flood_limit_exceeded'; perMinute: number; resetMs: number }
  | { kind: 'unsupported_endpoint'; operation: UnsupportedOperation }
  /** `wasSent`: a connection stood, so the upstream may have begun to act on the request. */
  | { kind: 'upstream_unreachable'; upstream: Upstream; wasSent: boolean }
  /** The limit of requests in progress with the upstream is reached, so this request was not sent. */
  | { kind: 'upstream_full'; upstream: Upstream }
  /** An error of the edge itself. `wasSent` as above. */
  | { kind: 'unforeseen'; wasSent: boolean };

const RETRY = 'The service cannot be reached right now. Retry with backoff.';

export function toEdgeError(fault: EdgeFault): WireError {
  switch (fault.kind) {
    case 'flood_limit_exceeded': {
      const reset = floodReset(fault.resetMs / 1_000);
      const limit = `${fault.perMinute} requests per minute for this address`;
      return throttled(`Rate limit reached: ${limit}. Retry in ${reset['x-ratelimit-reset']} s.`, reset);
    }
    case 'unsupported_endpoint':
      return notServed(
        `This service does not support ${fault.operation.name}. ${fault.operation.instead}`,
        'unsupported_endpoint',
      );
    case 'upstream_unreachable':
      return toUnreachable(fault);
    case 'upstream_full':
      return toUnreachable({ ...fault, wasSent: false });
    case 'unforeseen':
      return toInternalError(fault.wasSent ? NEVER_RETRY : {});
  }
}

function toUnreachable({ upstream, wasSent }: { upstream: Upstream; wasSent: boolean }): WireError {
  switch (UPSTREAMS[upstream].errors) {
    case 'bare':
      return bare(502, 'upstream router unavailable');
    case 'flat':
      return flat(503, 'service_unavailable', { message: RETRY }, retryAfter(1));
    case 'envelope':
      // Clients of the convention retry by themselves; a call that may have run must not run twice unasked.
      return unavailable(RETRY, { ...retryAfter(1), ...(wasSent && NEVER_RETRY) });
  }
}
