import type { InvalidRequestFault } from '@turnpike/http-service/createBodyReader';

/** What the ledger refuses or cannot do, in its own terms. */
export type LedgerFault =
  /** No such id, an id of another key, or a row not written yet: from outside they are the same. */
  | { kind: 'usage_not_found' }
  /** The look-up ran past its allowance. */
  | { kind: 'usage_timeout' }
  /** The ledger's database cannot be reached, or too many wait for it. */
  | { kind: 'ledger_unavailable' }
  | InvalidRequestFault
  /** A credit id is known with another workspace or amount. */
  | { kind: 'credit_conflict' }
  /** A credit that takes is recorded, and no router has said that the gate knows. */
  | { kind: 'gate_not_told' }
  /** Redis is not of this epoch any more, or what ended before it is not all recorded yet. */
  | { kind: 'epoch_not_ready' }
  /** Other books are being added up. */
  | { kind: 'reconciliation_running' }
  /** No dead letter of this id, or it was replayed. */
  | { kind: 'dead_letter_not_found' }
  /** The event log is not kept here, or has no such topic. */
  | { kind: 'unknown_topic' };

const LEDGER_FAULT_KINDS: Record<LedgerFault['kind'], true> = {
  usage_not_found: true,
  usage_timeout: true,
  ledger_unavailable: true,
  invalid_request: true,
  credit_conflict: true,
  gate_not_told: true,
  epoch_not_ready: true,
  reconciliation_running: true,
  dead_letter_not_found: true,
  unknown_topic: true,
};

export const isLedgerFault = (fault: { kind: string }): fault is LedgerFault =>
  Object.hasOwn(LEDGER_FAULT_KINDS, fault.kind);
