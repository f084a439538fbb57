/** The states of a top-up, each with the states that may follow it. */
const TRANSITIONS = {
  /** A row without a Checkout page, or an automatic one whose charge has no outcome yet. */
  created: ['open', 'wants_cardholder', 'paid', 'declined', 'expired'],
  /** The Checkout page waits for the customer. */
  open: ['processing', 'paid', 'declined', 'expired'],
  /** The customer is done, and the money is not there yet. */
  processing: ['paid', 'declined'],
  /** The bank of the saved card wants to ask its holder, who may pay on a page of the processor. */
  wants_cardholder: ['paid', 'declined', 'expired'],
  /** Charged and credited. The invoice follows some moments later. */
  paid: ['invoiced'],
  invoiced: [],
  declined: [],
  expired: [],
} as const satisfies Record<string, readonly string[]>;
export type TopUpState = keyof typeof TRANSITIONS;

export const isFinal = (state: TopUpState): boolean => TRANSITIONS[state].length === 0;

export const mayFollow = (from: TopUpState, to: TopUpState): boolean =>
  (TRANSITIONS[from] as readonly TopUpState[]).includes(to);
