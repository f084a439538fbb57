import type { keysConsoleApi } from '@turnpike/console-api/consoleApi';
import type { authApi } from '@turnpike/internal-api/auth';
import type { FaultOf } from '@turnpike/internal-api/internalApi';

/** Why the live spend of a key cannot be told. */
export type SpendFault =
  /** More keys are looked up at once than the router is asked about. */
  | { kind: 'too_many_look_ups' }
  | { kind: 'router_unavailable' }
  | { kind: 'router_refused_credentials' }
  | { kind: 'router_malformed_response' };

/** Why auth refuses a request or cannot serve it, beside the faults of authentication itself. */
export type AuthServiceFault = SpendFault | FaultOf<typeof authApi> | FaultOf<typeof keysConsoleApi>;
