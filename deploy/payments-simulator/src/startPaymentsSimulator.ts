import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { drain } from '@turnpike/http-service/drain';
import { listen } from '@turnpike/http-service/listen';
import type { Logger } from '@turnpike/logging/createLogger';
import { createAdminListener } from './admin/createAdminListener.ts';
import { Api } from './api/api.ts';
import { addEndpoint } from './api/events.ts';
import { servePage } from './pages/pages.ts';
import { endSlowPayment, expireDueSessions, invoiceSession } from './payments/checkout.ts';
import { succeedLater } from './payments/refunds.ts';
import { Processor } from './state/processor.ts';
import { verifyLater } from './tax/taxIds.ts';
import { WebhookSender } from './webhooks/webhookSender.ts';

const EXPIRY_SWEEP_MS = 1_000;

export interface PaymentsSimulatorOptions {
  /** Address of both listeners. */
  listenHost: string;
  port: number;
  adminPort: number;
  /** Address of the pages and documents as browsers know it, `http://localhost:<port>` if absent. */
  origin?: string | undefined;
  /** The key with which the client calls the API. */
  secretKey: string;
  /** The endpoint that gets every event. Further ones can be made by the API. */
  webhook?: { url: string; secret: string } | undefined;
  /** File of the state. Without one the state ends with the process. */
  file?: string | undefined;
  log: Logger;
}

export interface PaymentsSimulator {
  /** Address of the API and of the pages. */
  url: string;
  adminUrl: string;
  close(): Promise<void>;
}

/** Serves the payments simulator: the API and the pages on one port, the orders of tests on another. */
export async function startPaymentsSimulator(options: PaymentsSimulatorOptions): Promise<PaymentsSimulator> {
  const { listenHost, port, adminPort, secretKey, webhook, file, log } = options;
  const origin = options.origin ?? `http://localhost:${port}`;
  const processor = new Processor({ origin, file });
  const sender = new WebhookSender(processor, log);
  const api = new Api(processor, { secretKey, log });
  if (webhook !== undefined) setEndpoint(processor, webhook);
  processor.onEvent = (event) => sender.send(event);
  goOn(processor, sender);

  const server = await listen(createListener(processor, api, log), { host: listenHost, port });
  const admin = await listen(createAdminListener({ processor, api, sender }), { host: listenHost, port: adminPort });
  const sweep = setInterval(() => expireDueSessions(processor), EXPIRY_SWEEP_MS);
  return {
    url: `http://localhost:${port}`,
    adminUrl: `http://localhost:${adminPort}`,
    async close() {
      clearInterval(sweep);
      processor.close();
      sender.close();
      server.closeAllConnections();
      await drain([server, admin], { settleMs: 0 });
    },
  };
}

/** Makes the endpoint of the configuration, or gives it the configured secret if the state has it. */
function setEndpoint(processor: Processor, { url, secret }: { url: string; secret: string }): void {
  const known = processor.endpoints.list().find((each) => each.url === url);
  if (known === undefined) addEndpoint(processor, { url, secret, enabledEvents: ['*'] });
  else processor.endpoints.update(known.id, { secret });
}

/** Goes on with what an earlier process with this state left undone. */
function goOn(processor: Processor, sender: WebhookSender): void {
  for (const { id, status, payment_status: paid, invoice_creation: creation } of processor.sessions.list()) {
    if (status !== 'complete') continue;
    if (paid !== 'paid') processor.later(0, () => endSlowPayment(processor, id));
    else if (creation?.enabled) processor.later(0, () => invoiceSession(processor, id));
  }
  for (const { id, verification } of processor.taxIds.list())
    if (verification?.status === 'pending') verifyLater(processor, id);
  for (const { id, status } of processor.refunds.list()) if (status === 'pending') succeedLater(processor, id);
  sender.resume();
}

const createListener =
  (processor: Processor, api: Api, log: Logger): RequestListener =>
  (req, res) => {
    if (req.url?.startsWith('/v1/')) {
      api.listener(req, res);
      return;
    }
    serveRest(processor, req, res).catch((error: unknown) => {
      log.error({ err: error }, 'page failed');
      res.writeHead(500).end();
    });
  };

async function serveRest(processor: Processor, req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (await servePage(processor, req, res)) return;
  const isHealth = req.url === '/health';
  res
    .writeHead(isHealth ? 200 : 404, { 'content-type': 'application/json' })
    .end(JSON.stringify(isHealth ? { status: 'ok' } : { error: 'There is nothing at this address.' }));
}
