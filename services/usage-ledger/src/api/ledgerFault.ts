import type { FaultOf } from '@turnpike/internal-api/internalApi';
import type { usageLedgerApi } from '@turnpike/internal-api/usageLedger';

/** Why usage is not looked up, in the ledger's own terms. */
export type UsageFault =
  /** No such id, an id of another key, or a row not written yet: from outside they are the same. */
  | { kind: 'usage_not_found' }
  /** The look-up ran past its allowance. */
  | { kind: 'usage_timeout' }
  /** The ledger's database cannot be reached, or too many wait for it. */
  | { kind: 'ledger_unavailable' }
  | { kind: 'invalid_request'; param: string; problem: string };

/** Why the ledger refuses a request or cannot serve it. */
export type LedgerFault = UsageFault | FaultOf<typeof usageLedgerApi>;
