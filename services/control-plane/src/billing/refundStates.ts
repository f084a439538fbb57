/** The states of a refund, each with the states that may follow it. */
const TRANSITIONS = {
  /** The region has not reported what it took. */
  taking: ['taken', 'nothing_taken'],
  /** All credit of the top-up is spent. */
  nothing_taken: [],
  /** The credit is back, and the money is not. */
  taken: ['refunded', 'refused'],
  /** The processor made no credit note, and the credit was given back. */
  refused: [],
  refunded: ['failed'],
  /** The bank of the customer did not take the money, and the credit was given back. */
  failed: [],
} as const satisfies Record<string, readonly string[]>;
export type RefundState = keyof typeof TRANSITIONS;

export const mayFollowRefund = (from: RefundState, to: RefundState): boolean =>
  (TRANSITIONS[from] as readonly RefundState[]).includes(to);
