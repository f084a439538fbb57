import { request } from 'undici';
import { z } from 'zod';

const TIMEOUT_MS = 10_000;

const currency = z.string();
const logSchema = z.object({
  events: z.array(z.object({ id: z.string(), type: z.string() })),
  charges: z.array(
    z.object({
      id: z.string(),
      status: z.string(),
      currency,
      amount: z.number(),
      metadata: z.record(z.string(), z.string()),
    }),
  ),
  refunds: z.array(z.object({ status: z.string(), currency, amount: z.number() })),
  disputes: z.array(
    z.object({ status: z.string(), charge: z.union([z.string(), z.object({ id: z.string() })]), amount: z.number() }),
  ),
  invoices: z.array(
    z.object({
      id: z.string(),
      status: z.string().nullable(),
      number: z.string().nullable(),
      /** Seconds of the Unix time. */
      created: z.number(),
      currency,
      subtotal: z.number(),
      total: z.number(),
      metadata: z.record(z.string(), z.string()).nullable(),
    }),
  ),
  credit_notes: z.array(
    z.object({
      id: z.string(),
      status: z.string(),
      subtotal: z.number(),
      invoice: z.union([z.string(), z.object({ id: z.string() })]),
    }),
  ),
});

/** All that happened at the processor: what truth is judged by. */
export type ProcessorLog = z.output<typeof logSchema>;

interface ApiFault {
  fault: 'refuse_500' | 'answer_500_after' | 'reset_after' | 'never_answers';
  /** Strikes one of so many requests; each where it is not given. */
  everyNth?: number;
}

interface WebhookFault {
  fault: 'lose' | 'double' | 'late' | 'shuffle' | 'reset_after';
  /** Strikes one of so many events; each where it is not given. */
  everyNth?: number;
}

/** The payment processor of a stack, by the admin port of its simulator. */
export class PaymentsSimulator {
  readonly #adminUrl: string;

  constructor(adminUrl: string) {
    this.#adminUrl = adminUrl;
  }

  /** Adds a fault to the answers of the API. */
  async failApi({ fault, everyNth = 1 }: ApiFault): Promise<void> {
    await this.#ask('POST', 'faults/api', [{ fault, match: { everyNth } }]);
  }

  /** Delivers no event from now on. */
  loseWebhooks(): Promise<void> {
    return this.failWebhooks([{ fault: 'lose' }]);
  }

  /** Adds faults to the delivery of events. */
  async failWebhooks(faults: readonly WebhookFault[]): Promise<void> {
    const rules = faults.map(({ fault, everyNth = 1 }) => ({ fault, match: { everyNth } }));
    await this.#ask('POST', 'faults/webhooks', rules);
  }

  /** Removes all faults. */
  async mend(): Promise<void> {
    await this.#ask('DELETE', 'faults');
  }

  /** Delivers an event once more. */
  async deliver(eventId: string): Promise<void> {
    await this.#ask('POST', `events/${eventId}/deliver`, {});
  }

  /** Opens a dispute of a whole charge. Returns its id. */
  async dispute(charge: string): Promise<string> {
    return z.object({ id: z.string() }).parse(await this.#ask('POST', 'disputes', { charge })).id;
  }

  async win(disputeId: string): Promise<void> {
    await this.#ask('POST', `disputes/${disputeId}/win`);
  }

  async lose(disputeId: string): Promise<void> {
    await this.#ask('POST', `disputes/${disputeId}/lose`);
  }

  async readLog(): Promise<ProcessorLog> {
    return logSchema.parse(await this.#ask('GET', 'log'));
  }

  async #ask(method: 'GET' | 'POST' | 'DELETE', path: string, content?: object): Promise<unknown> {
    const { statusCode, body } = await request(`${this.#adminUrl}/admin/${path}`, {
      method,
      ...(content && { body: JSON.stringify(content) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await body.text();
    if (statusCode !== 200)
      throw new Error(`the payments simulator answered ${statusCode} to ${method} ${path}: ${text}`);
    return JSON.parse(text);
  }
}
