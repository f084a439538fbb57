import { z } from 'zod';
import { Rules, ruleShape } from './rules.ts';

export const webhookFaultRulesSchema = z.array(
  z.strictObject({
    ...ruleShape,
    fault: z.enum([
      /** The event is never delivered, and stays undelivered in the list of events. */
      'lose',
      /** The event is delivered twice. */
      'double',
      /** The event is delivered `delayMs` later. */
      'late',
      /** The event is delivered up to `delayMs` later, so that later ones overtake it. */
      'shuffle',
      /** The first connection is reset before a byte of the event. */
      'reset_before',
      /** The first connection is reset when the receiver has answered, so the event comes again. */
      'reset_after',
      /** The first delivery is signed with another secret, or for a time too long ago or ahead. */
      'forged',
      'old',
      'future',
    ]),
    delayMs: z.int().min(0).max(600_000).default(1_000),
  }),
);
export type WebhookFaultRule = z.output<typeof webhookFaultRulesSchema>[number];
export const createWebhookFaults = (): Rules<WebhookFaultRule> => new Rules();
