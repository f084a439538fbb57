import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { startPaymentsSimulator } from '@turnpike/payments-simulator/startPaymentsSimulator';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { WEBHOOK_PATH } from '../src/billing/paymentEvents.ts';
import type { openDocumentStore, openPayments } from '../src/billing/paymentProcessor.ts';

export const WEBHOOK_SECRET = 'whsec_0123456789abcdef0123';
export const CARDS = { pays: '4242424242424242', declined: '4000000000000002', asks: '4000002760003184' };

export interface TestPayments {
  /** The settings of the control plane for this processor. */
  settings: Parameters<typeof openPayments>[0] & Parameters<typeof openDocumentStore>[0];
  /** The folder of the copies of documents. */
  documentFolder: string;
  /** Gives an order to the admin port, and returns its answer. */
  order<T = Record<string, unknown>>(method: string, path: string, body?: object): Promise<T>;
  /** Sends webhooks to a control plane from now on. */
  sendTo(accountUrl: string): Promise<void>;
  /** Pays on a Checkout page as a visitor does. Without a country the page has the address already. Returns the status of the page, and the address that it leads to. */
  pay(
    checkoutUrl: string,
    options?: { country?: string | null; card?: string },
  ): Promise<{ status: number; next: string }>;
  close(): Promise<void>;
}

/** The payments simulator in the test's process. */
export async function startPayments(): Promise<TestPayments> {
  const documentFolder = await mkdtemp(join(tmpdir(), 'turnpike-documents-'));
  const [port, adminPort] = [await findFreePort(), await findFreePort()];
  const key = 'sk_test_0123456789abcdef';
  const simulator = await startPaymentsSimulator({
    ...{ listenHost: '127.0.0.1', port, adminPort, secretKey: key, log: aSilentLogger() },
    origin: `http://127.0.0.1:${port}`,
  });
  async function order<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${adminPort}/admin/${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as T;
    if (!response.ok) throw new Error(`${method} ${path} is ${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  }
  const send = (url: string, form: Record<string, string>) =>
    fetch(url, { method: 'POST', redirect: 'manual', body: new URLSearchParams(form) });
  return {
    settings: {
      ...{ secret_key: key, webhook_secrets: ['whsec_another_secret_of_before', WEBHOOK_SECRET] },
      ...{ api_url: `http://127.0.0.1:${port}`, tax_code: 'txcd_10105001' },
      documents: { folder: documentFolder },
    },
    documentFolder,
    order,
    async sendTo(accountUrl) {
      await order('POST', 'endpoints', { url: `${accountUrl}${WEBHOOK_PATH}`, secret: WEBHOOK_SECRET });
    },
    async pay(checkoutUrl, { country = 'IE', card = CARDS.pays } = {}) {
      if (country !== null)
        await send(checkoutUrl, { action: 'address', country, postal_code: 'D02', line1: '1 Quay', city: 'Town' });
      const { status, headers } = await send(checkoutUrl, { action: 'pay', card });
      return { status, next: headers.get('location') ?? '' };
    },
    async close() {
      await simulator.close();
      await rm(documentFolder, { recursive: true, force: true });
    },
  };
}
