import type { Logger } from '@turnpike/logging/createLogger';
import type { Stripe } from 'stripe';
import { createWebhookFaults, type WebhookFaultRule } from '../faults/webhookFaultRules.ts';
import type { Processor } from '../state/processor.ts';
import { type Outcome, post } from './post.ts';
import { type SignatureKind, signAs } from './signPayload.ts';

/** Attempts that the log keeps. */
const MAX_ATTEMPTS_KEPT = 50_000;

/** One attempt to deliver an event, as the log has it. */
export interface DeliveryAttempt {
  event: string;
  type: string;
  /** The id of the event's object. */
  object: string | null;
  url: string;
  at: string;
  /** The first attempt is 1. The second copy of a doubled event begins anew. */
  attempt: number;
  faults: string[];
  status: number | null;
  error: string | null;
}

const toSignature = (faults: readonly string[]): SignatureKind =>
  (['forged', 'old', 'future'] as const).find((kind) => faults.includes(kind)) ?? 'right';

/** Delivers events to the endpoints: signed, again until a 2xx, and as badly as the rules say. */
export class WebhookSender {
  readonly rules = createWebhookFaults();
  readonly attempts: DeliveryAttempt[] = [];
  readonly #processor: Processor;
  readonly #log: Logger;
  readonly #end = new AbortController();
  #underWay = 0;

  constructor(processor: Processor, log: Logger) {
    this.#processor = processor;
    this.#log = log;
  }

  /** Deliveries that have not ended, those that wait for another attempt included. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Delivers an event to each endpoint that asked for its type. */
  send(event: Stripe.Event): void {
    for (const endpoint of this.#processor.endpoints.list()) {
      if (!endpoint.enabled_events.some((type) => type === '*' || type === event.type)) continue;
      this.#plan(event, endpoint, this.rules.take(event.type));
    }
  }

  /** Delivers an event once more to each endpoint, whatever has become of it. Its first delivery has a signature of this kind. */
  sendAgain(event: Stripe.Event, signature: SignatureKind): void {
    const faults = signature === 'right' ? [] : [signature];
    for (const endpoint of this.#processor.endpoints.list()) {
      this.#underWay += 1;
      void this.#attempt(event, endpoint, { attempt: 1, faults });
    }
  }

  /** Goes on with what was pending when the process ended. */
  resume(): void {
    for (const { state, event: eventId, endpoint: endpointId } of this.#processor.deliveries.list()) {
      const event = this.#processor.events.find(eventId);
      const endpoint = this.#processor.endpoints.find(endpointId);
      if (state === 'pending' && event && endpoint) this.#plan(event, endpoint, []);
    }
  }

  close(): void {
    this.#end.abort();
  }

  #plan(event: Stripe.Event, endpoint: Stripe.WebhookEndpoint, rules: WebhookFaultRule[]): void {
    const { deliveries, knobs } = this.#processor;
    const faults = rules.map(({ fault }) => fault);
    const id = `${event.id}:${endpoint.id}`;
    const known = deliveries.find(id);
    const isLost = faults.includes('lose');
    if (known === undefined)
      deliveries.add({ id, event: event.id, endpoint: endpoint.id, state: isLost ? 'lost' : 'pending', attempts: 0 });
    if (isLost) {
      this.#record(event, endpoint, { attempt: 0, faults, outcome: { error: 'lost' } });
      return;
    }
    const late = rules.filter(({ fault }) => fault === 'late').map(({ delayMs }) => delayMs);
    const shuffled = rules.filter(({ fault }) => fault === 'shuffle').map(({ delayMs }) => delayMs);
    const copies = faults.includes('double') ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      const delayMs = knobs.webhookDelayMs + Math.max(0, ...late) + Math.random() * Math.max(0, ...shuffled);
      this.#underWay += 1;
      this.#processor.later(delayMs, () => void this.#attempt(event, endpoint, { attempt: 1, faults }));
    }
  }

  async #attempt(
    event: Stripe.Event,
    endpoint: Stripe.WebhookEndpoint,
    { attempt, faults }: { attempt: number; faults: string[] },
  ): Promise<void> {
    const { deliveries, knobs } = this.#processor;
    const id = `${event.id}:${endpoint.id}`;
    const body = JSON.stringify({ ...event, pending_webhooks: 1 }, null, 2);
    const isFirst = attempt === 1;
    const outcome = await post({
      url: endpoint.url,
      body,
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'user-agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)',
        'stripe-signature': signAs(isFirst ? toSignature(faults) : 'right', body, endpoint.secret ?? ''),
      },
      reset:
        isFirst && faults.includes('reset_before')
          ? 'before'
          : isFirst && faults.includes('reset_after')
            ? 'after'
            : undefined,
      signal: this.#end.signal,
    });
    if (this.#end.signal.aborted) return;
    this.#record(event, endpoint, { attempt, faults: isFirst ? faults : [], outcome });
    const isDelivered = 'status' in outcome && outcome.status >= 200 && outcome.status < 300;
    const isLast = attempt >= knobs.webhookAttempts;
    const before = deliveries.find(id);
    if (before !== undefined && before.state !== 'delivered')
      deliveries.put({
        ...before,
        attempts: before.attempts + 1,
        state: isDelivered ? 'delivered' : isLast ? 'failed' : before.state,
      });
    if (isDelivered || isLast) {
      this.#underWay -= 1;
      return;
    }
    const retryMs = knobs.webhookRetryMs * 2 ** (attempt - 1);
    this.#processor.later(retryMs, () => void this.#attempt(event, endpoint, { attempt: attempt + 1, faults }));
  }

  #record(
    event: Stripe.Event,
    { url }: Stripe.WebhookEndpoint,
    { attempt, faults, outcome }: { attempt: number; faults: string[]; outcome: Outcome },
  ): void {
    const status = 'status' in outcome ? outcome.status : null;
    const error = 'error' in outcome ? outcome.error : null;
    const object = (event.data.object as { id?: string }).id ?? null;
    this.attempts.push({
      event: event.id,
      type: event.type,
      object,
      url,
      at: new Date().toISOString(),
      attempt,
      faults,
      status,
      error,
    });
    if (this.attempts.length > MAX_ATTEMPTS_KEPT) this.attempts.shift();
    if (status === null || status >= 300)
      this.#log.info({ event: event.id, type: event.type, url, attempt, status, error }, 'webhook not delivered');
  }
}
