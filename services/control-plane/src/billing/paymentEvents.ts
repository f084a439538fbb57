import type { Guard } from '@turnpike/http-service/guard';
import type { Principal } from '@turnpike/http-service/observeRequests';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import express, { type Request, type RequestHandler } from 'express';
import type Stripe from 'stripe';
import type { Db } from '../database/openDatabase.ts';
import type { DocumentQueue } from './documentQueue.ts';
import type { Payments } from './paymentProcessor.ts';
import type { ReversalQueue } from './reversalQueue.ts';
import type { SettleQueue } from './settleQueue.ts';
import type { VatIdQueue } from './vatIdQueue.ts';

/** The path of webhooks of the payment processor. */
export const WEBHOOK_PATH = '/account/webhooks/payments';

/** The refusals of webhooks. */
export const WEBHOOK_FAULTS = {
  forged_webhook: { status: 400, message: 'This request does not have a valid signature of the payment processor.' },
  not_found: { status: 404, message: 'There is nothing at this path.' },
  unreadable_webhook: { status: 400, message: 'The body of this request cannot be read.' },
};

/** An event whose signature was verified. */
export interface PaymentsPrincipal extends Principal {
  kind: 'payment_processor';
  event: Stripe.Event;
}

const BODY_LIMIT_BYTES = 512 * 1_024;
/** An event is refused that was signed so long ago, or so far in the future. */
const TOLERANCE_S = 300;
const TYPES = new Set<string>([
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'invoice.paid',
]);
/** Events about an object that we do not name: the job looks for it. */
const REVERSAL_TYPES = new Set<string>([
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'refund.updated',
  'refund.failed',
]);
const OBJECT_ID = /^(dp|du|re|pyr)_\w{1,100}$/;
const readRaw = express.raw({ limit: BODY_LIMIT_BYTES, inflate: false, type: () => true });

/**
 * Admits webhooks that the payment processor signed. Throws `not_found` without a processor, `unreadable_webhook` for a body that is too
 * large, and `forged_webhook` for any other signature or time.
 */
export const createWebhookGuard =
  (payments: Payments | undefined): Guard =>
  async (req): Promise<PaymentsPrincipal> => {
    if (!payments) throw new ApiError({ kind: 'not_found' });
    const body = await readBody(req);
    const signature = req.headers['stripe-signature'];
    if (typeof signature !== 'string' || isOfFuture(signature)) throw new ApiError({ kind: 'forged_webhook' });
    for (const secret of payments.webhookSecrets) {
      try {
        const event = payments.stripe.webhooks.constructEvent(body, signature, secret, TOLERANCE_S);
        return { kind: 'payment_processor', event };
      } catch {
        // Another secret may have signed it.
      }
    }
    throw new ApiError({ kind: 'forged_webhook' });
  };

function readBody(req: Request): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (!req.res) throw new Error('a request has its response');
    readRaw(req, req.res, (error?: unknown) => {
      if (error !== undefined || !Buffer.isBuffer(req.body)) reject(new ApiError({ kind: 'unreadable_webhook' }));
      else resolve(req.body);
    });
  });
}

/** The client refuses what is too old, and takes any time to come. */
const isOfFuture = (signature: string): boolean =>
  [...signature.matchAll(/t=(\d+)/g)].some(([, time]) => Number(time) > Date.now() / 1_000 + TOLERANCE_S);

/**
 * Stores a webhook about a top-up, a refund or a dispute with the job that works it off. Queues a look at a VAT id, or the copy of a document. Then answers. An
 * event that comes again changes nothing. The amounts of an event are never read: the job asks the processor.
 */
export const takeWebhook =
  ({
    db,
    settleQueue,
    vatIdQueue,
    documentQueue,
    reversalQueue,
  }: {
    db: Db;
    settleQueue: SettleQueue;
    vatIdQueue: VatIdQueue;
    documentQueue: DocumentQueue;
    reversalQueue: ReversalQueue;
  }): RequestHandler =>
  async (_req, res) => {
    const { event } = res.locals.principal as PaymentsPrincipal;
    const customer = event.type === 'customer.tax_id.updated' ? event.data.object.customer : undefined;
    if (typeof customer === 'string') await vatIdQueue.look(customer);
    await documentQueue.look(event);
    const topUpId = TYPES.has(event.type) ? topUpIdOf(event) : undefined;
    if (topUpId !== undefined)
      await db.$transaction(async (tx) => {
        const stored = await tx.$executeRaw(sql`
          INSERT INTO psp_event (event_id, type, top_up_id)
          SELECT ${event.id}, ${event.type}, top_up_id FROM top_up WHERE top_up_id = ${topUpId}
          ON CONFLICT DO NOTHING`);
        if (stored === 1) await settleQueue.workOff(tx, { top_up_id: topUpId, event_id: event.id });
      });
    const objectId = REVERSAL_TYPES.has(event.type) ? (event.data.object as { id?: unknown }).id : undefined;
    if (typeof objectId === 'string' && OBJECT_ID.test(objectId))
      await db.$transaction(async (tx) => {
        const stored = await tx.$executeRaw(sql`
          INSERT INTO psp_event (event_id, type, object_id) VALUES (${event.id}, ${event.type}, ${objectId}) ON CONFLICT DO NOTHING`);
        if (stored === 1) await reversalQueue.workOff(tx, { object_id: objectId, event_id: event.id });
      });
    res.json({ received: true });
  };

/** The objects of these events have the id of their top-up, because we give it to them. */
function topUpIdOf({ data }: Stripe.Event): string | undefined {
  const { metadata } = data.object as { metadata?: Record<string, unknown> | null };
  const id = metadata?.top_up_id;
  return typeof id === 'string' && id.length <= 128 ? id : undefined;
}
