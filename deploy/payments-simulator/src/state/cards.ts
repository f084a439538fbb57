import type { Stripe } from 'stripe';

/** How a card's bank answers. */
type BankAnswer = 'pays' | 'asks' | { decline: string; message: string };

/** A test card of the processor. */
export interface Card {
  number: string;
  /** The name on the page. */
  label: string;
  brand: string;
  /** The ready-made payment method of this card. */
  token: string;
  /** The answer while the cardholder is on the page. */
  onSession: BankAnswer;
  /** The answer to a charge without the cardholder. */
  offSession: BankAnswer;
  /** The event that follows a payment by itself. */
  aftermath?: 'dispute' | 'inquiry' | 'early_fraud_warning';
}

const GENERIC = { decline: 'generic_decline', message: 'Your card was declined.' };
const NO_FUNDS = { decline: 'insufficient_funds', message: 'Your card has insufficient funds.' };

export const CARDS: readonly Card[] = [
  card('4242424242424242', 'pays', 'pm_card_visa', 'pays', 'pays'),
  card(
    '4000002500003155',
    'asks the bank once, then pays by itself',
    'pm_card_authenticationRequiredOnSetup',
    'asks',
    'pays',
  ),
  card('4000002760003184', 'asks the bank each time', 'pm_card_authenticationRequired', 'asks', 'asks'),
  card('4000000000000002', 'is declined', 'pm_card_chargeDeclined', GENERIC, GENERIC),
  card('4000000000009995', 'has no funds', 'pm_card_chargeDeclinedInsufficientFunds', NO_FUNDS, NO_FUNDS),
  card('4000000000000341', 'pays now and is declined later', 'pm_card_chargeCustomerFail', 'pays', GENERIC),
  {
    ...card('4000000000000259', 'pays and is disputed', 'pm_card_createDispute', 'pays', 'pays'),
    aftermath: 'dispute',
  },
  {
    ...card('4000000000001976', 'pays and is inquired about', 'pm_card_createDisputeInquiry', 'pays', 'pays'),
    aftermath: 'inquiry',
  },
  {
    ...card('4000000000005423', 'pays and is reported as fraud', 'pm_card_createIssuerFraudRecord', 'pays', 'pays'),
    aftermath: 'early_fraud_warning',
  },
];

function card(number: string, label: string, token: string, onSession: BankAnswer, offSession: BankAnswer): Card {
  return { number, label, brand: 'visa', token, onSession, offSession };
}

export const findCard = (number: string): Card | undefined =>
  CARDS.find((each) => each.number === number.replaceAll(/\s/g, ''));
export const findCardByToken = (token: string): Card | undefined => CARDS.find((each) => each.token === token);

/** Returns the test card of a payment method. Its fingerprint is the card's number. */
export function cardOf({ card }: Stripe.PaymentMethod): Card {
  const found = CARDS.find(({ number }) => number === card?.fingerprint);
  if (found === undefined) throw new Error(`no test card has the fingerprint ${card?.fingerprint}`);
  return found;
}
