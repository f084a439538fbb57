import type { IncomingMessage, RequestListener } from 'node:http';
import { z } from 'zod';
import type { Api } from '../api/api.ts';
import { ApiFault, invalid } from '../api/apiFault.ts';
import { addEndpoint } from '../api/events.ts';
import { apiFaultRulesSchema } from '../faults/apiFaultRules.ts';
import { webhookFaultRulesSchema } from '../faults/webhookFaultRules.ts';
import { addBalanceTransaction } from '../payments/balance.ts';
import { expireDueSessions } from '../payments/checkout.ts';
import { closeDispute, escalateDispute, openDispute, reviewDispute, warnOfFraud } from '../payments/disputes.ts';
import { failRefund } from '../payments/refunds.ts';
import { knobsSchema } from '../state/knobs.ts';
import type { Processor } from '../state/processor.ts';
import type { WebhookSender } from '../webhooks/webhookSender.ts';
import { readJson } from './readJson.ts';
import { toTruth } from './truth.ts';

export interface AdminParts {
  processor: Processor;
  api: Api;
  sender: WebhookSender;
}

type Handler = (parts: AdminParts, req: IncomingMessage, id: string) => object | Promise<object>;

const someKnobs = z.strictObject(
  Object.fromEntries(Object.entries(knobsSchema.shape).map(([name, schema]) => [name, schema.unwrap().optional()])),
);
const settingsSchema = z.strictObject({
  country: z
    .string()
    .regex(/^[A-Z]{2}$/)
    .optional(),
  tax_status: z.enum(['active', 'pending']).optional(),
});
const disputeSchema = z.strictObject({
  charge: z.string(),
  amount: z.int().min(1).optional(),
  reason: z.string().optional(),
  inquiry: z.boolean().optional(),
});
const endpointSchema = z.strictObject({
  url: z.url(),
  secret: z.string().min(8).optional(),
  enabled_events: z.array(z.string()).min(1).default(['*']),
});

const deliverySchema = z.strictObject({ signature: z.enum(['right', 'forged', 'old', 'future']).default('right') });
const payoutSchema = z.strictObject({ currency: z.enum(['eur', 'usd']), amount: z.int().min(1) });

const done = (_outcome: unknown): object => ({});

const HANDLERS: [pattern: RegExp, handler: Handler][] = [
  [/^GET \/admin\/log$/, readLog],
  [/^GET \/admin\/truth$/, ({ processor }) => toTruth(processor)],
  [/^GET \/admin\/state$/, ({ processor, sender }) => readState(processor, sender)],
  [
    /^POST \/admin\/config$/,
    async ({ processor }, req) => {
      processor.knobs = { ...processor.knobs, ...(await readJson(req, someKnobs)) };
      return processor.knobs;
    },
  ],
  [
    /^POST \/admin\/settings$/,
    async ({ processor }, req) => {
      const { country, tax_status: status } = await readJson(req, settingsSchema);
      processor.changeSettings({ country, status });
      return processor.settings;
    },
  ],
  [/^GET \/admin\/faults$/, ({ api, sender }) => ({ api: api.faults.list(), webhooks: sender.rules.list() })],
  [
    /^POST \/admin\/faults\/api$/,
    async ({ api }, req) => done(api.faults.add(await readJson(req, apiFaultRulesSchema))),
  ],
  [
    /^POST \/admin\/faults\/webhooks$/,
    async ({ sender }, req) => done(sender.rules.add(await readJson(req, webhookFaultRulesSchema))),
  ],
  [
    /^DELETE \/admin\/faults$/,
    ({ api, sender }) => {
      api.faults.clear();
      sender.rules.clear();
      return {};
    },
  ],
  [
    /^POST \/admin\/endpoints$/,
    async ({ processor }, req) => {
      const { url, secret, enabled_events: enabledEvents } = await readJson(req, endpointSchema);
      return addEndpoint(processor, { url, enabledEvents, ...(secret && { secret }) });
    },
  ],
  [
    /^POST \/admin\/advance$/,
    async ({ processor }, req) => {
      const { ms } = await readJson(req, z.strictObject({ ms: z.number().min(0) }));
      processor.clock.advance(ms);
      expireDueSessions(processor);
      return { now: processor.now() };
    },
  ],
  [
    /^POST \/admin\/events\/(\w+)\/deliver$/,
    async ({ processor, sender }, req, id) => {
      const { signature } = await readJson(req, deliverySchema);
      return done(sender.sendAgain(processor.events.get(id), signature));
    },
  ],
  [
    /^POST \/admin\/payouts$/,
    async ({ processor }, req) => {
      const { currency, amount } = await readJson(req, payoutSchema);
      const payout = { type: 'payout', category: 'payout', source: processor.newId('po') } as const;
      return addBalanceTransaction(processor, { ...payout, currency, amount: -amount, description: 'STRIPE PAYOUT' });
    },
  ],
  [
    /^POST \/admin\/disputes$/,
    async ({ processor }, req) => {
      const { charge, amount, reason, inquiry } = await readJson(req, disputeSchema);
      return openDispute(processor, { charge, amount, reason, isInquiry: inquiry });
    },
  ],
  [/^POST \/admin\/disputes\/(\w+)\/win$/, ({ processor }, _req, id) => closeDispute(processor, id, 'won')],
  [/^POST \/admin\/disputes\/(\w+)\/lose$/, ({ processor }, _req, id) => closeDispute(processor, id, 'lost')],
  [/^POST \/admin\/disputes\/(\w+)\/escalate$/, ({ processor }, _req, id) => escalateDispute(processor, id)],
  [/^POST \/admin\/disputes\/(\w+)\/review$/, ({ processor }, _req, id) => reviewDispute(processor, id, null)],
  [/^POST \/admin\/refunds\/(\w+)\/fail$/, ({ processor }, _req, id) => failRefund(processor, id)],
  [/^POST \/admin\/charges\/(\w+)\/fraud-warning$/, ({ processor }, _req, id) => warnOfFraud(processor, id)],
];

/** Serves the orders of a test and the log that truth is judged by. Nothing that uses the processor knows this port. */
export const createAdminListener =
  (parts: AdminParts): RequestListener =>
  (req, res) => {
    const send = (status: number, body: object) =>
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    answer(parts, req).then(
      (body) => send(200, body),
      (error: unknown) => send(error instanceof ApiFault ? error.status : 500, { error: String(error) }),
    );
  };

async function answer(parts: AdminParts, req: IncomingMessage): Promise<object> {
  const name = `${req.method} ${req.url?.split('?')[0]}`;
  const found = HANDLERS.find(([pattern]) => pattern.test(name));
  if (found === undefined) throw invalid(`The admin port has no ${name}.`, { status: 404 });
  const [pattern, handle] = found;
  return handle(parts, req, pattern.exec(name)?.[1] ?? '');
}

/** All that happened: requests, deliveries of events, and each object that moved money or is a document. */
function readLog({ processor, api, sender }: AdminParts): object {
  return {
    requests: api.requests.entries,
    deliveries: sender.attempts,
    events: processor.events.list().map(({ id, type, created, data }) => ({
      id,
      type,
      created,
      object: (data.object as { id?: string }).id ?? null,
    })),
    charges: processor.charges.list(),
    refunds: processor.refunds.list(),
    disputes: processor.disputes.list(),
    invoices: processor.invoices.list(),
    credit_notes: processor.creditNotes.list(),
    balance_transactions: processor.balanceTransactions.list(),
  };
}

const readState = (processor: Processor, sender: WebhookSender): object => ({
  now: processor.now(),
  knobs: processor.knobs,
  settings: processor.settings,
  deliveries_under_way: sender.underWay,
  open_sessions: processor.sessions.list().filter(({ status }) => status === 'open').length,
  undelivered_events: processor.events.list().filter(({ id }) => processor.countUndelivered(id) > 0).length,
});
