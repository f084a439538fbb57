import type { authApi } from '@turnpike/internal-api/auth';
import type { FaultOf } from '@turnpike/internal-api/internalApi';

/** Why the live spend of a key cannot be told. */
export type SpendFault =
  /** More keys are looked up at once than the router is asked about. */
  | { kind: 'too_many_look_ups' }
  | { kind: 'router_unavailable' }
  | { kind: 'router_refused_credentials' }
  | { kind: 'router_malformed_response' };

const SPEND_FAULT_KINDS: Record<SpendFault['kind'], true> = {
  too_many_look_ups: true,
  router_unavailable: true,
  router_refused_credentials: true,
  router_malformed_response: true,
};

export const isSpendFault = (fault: { kind: string }): fault is SpendFault =>
  Object.hasOwn(SPEND_FAULT_KINDS, fault.kind);

/** Why auth refuses a request or cannot serve it, beside the faults of authentication itself. */
export type AuthServiceFault = SpendFault | FaultOf<typeof authApi>;
