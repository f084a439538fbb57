import { z } from 'zod';

const ms = z.number().int().min(0).max(3_600_000);

/** Settings of the simulator that the admin port changes. */
export const knobsSchema = z.strictObject({
  /** Time from a payment on the page to its invoice. */
  invoiceDelayMs: ms.default(100),
  /** Time until the verdict about a tax id. */
  taxIdDelayMs: ms.default(200),
  /** How payments on the page end that their bank takes time for. `none`: each ends at once. */
  slowPayments: z.enum(['none', 'succeed', 'fail']).default('none'),
  slowPaymentMs: ms.default(500),
  /** Time that a refund is pending. */
  refundDelayMs: ms.default(0),
  /** Time from an event to its first delivery. */
  webhookDelayMs: ms.default(0),
  /** Time from a failed delivery to the next one. It doubles with each. */
  webhookRetryMs: ms.default(500),
  /** Deliveries of an event to an endpoint, with the first. */
  webhookAttempts: z.number().int().min(1).max(20).default(6),
  /** Time that each answer of the API takes after its effect. */
  latencyMs: ms.default(0),
  /** `attached`: a tax id makes a sale reverse charge before its verdict, as the processor does. */
  reverseChargeOn: z.enum(['attached', 'verified']).default('attached'),
  /** Whether invoice numbers are one series of the account, or one of each customer. */
  numbering: z.enum(['account', 'customer']).default('account'),
});
export type Knobs = z.output<typeof knobsSchema>;
