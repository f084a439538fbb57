import { randomBytes } from 'node:crypto';
import type { Stripe } from 'stripe';
import { z } from 'zod';
import type { Processor } from '../state/processor.ts';
import { API_VERSION } from '../state/processor.ts';
import { isWithin, toPage } from './lists.ts';
import * as p from './params.ts';
import { type Route, route } from './route.ts';

const KEPT_SECONDS = 30 * 24 * 3_600;
const noParams = z.strictObject({});
const endpointParams = p.paramsOf<Stripe.WebhookEndpointCreateParams>()({
  api_version: p.oneOf(API_VERSION).optional(),
  description: p.orUnset(p.text).optional(),
  enabled_events: p.listOf(p.text),
  metadata: p.metadata.optional(),
  url: z.string().regex(/^https?:\/\/\S+$/, { error: 'Invalid URL' }),
});

export const EVENT_ROUTES: Route[] = [
  route('GET /v1/events/{id}', noParams, (processor, _params, id) => withPending(processor, processor.events.get(id))),
  route(
    'GET /v1/events',
    p.paramsOf<Stripe.EventListParams>()({
      ...p.pagination,
      created: p.createdRange,
      delivery_success: p.boolean.optional(),
      type: p.text.optional(),
      types: p.listOf(p.text).optional(),
    }),
    (processor, { created, delivery_success: isDelivered, type, types, ...page }) => {
      const oldest = processor.now() - KEPT_SECONDS;
      const found = toPage(
        processor.events.list(),
        page,
        '/v1/events',
        (event) =>
          event.created >= oldest &&
          isWithin(event.created, created) &&
          (type === undefined || event.type === type) &&
          (types === undefined || types.includes(event.type)) &&
          (isDelivered === undefined || isDelivered === (processor.countUndelivered(event.id) === 0)),
      );
      return { ...found, data: found.data.map((event) => withPending(processor, event)) };
    },
  ),
  route('POST /v1/webhook_endpoints', endpointParams, (processor, params) =>
    addEndpoint(processor, { ...params, enabledEvents: params.enabled_events }),
  ),
  route('GET /v1/webhook_endpoints/{id}', noParams, (processor, _params, id) =>
    withoutSecret(processor.endpoints.get(id)),
  ),
  route('GET /v1/webhook_endpoints', z.strictObject(p.pagination), (processor, page) =>
    toPage(processor.endpoints.list().map(withoutSecret), page, '/v1/webhook_endpoints'),
  ),
  route('DELETE /v1/webhook_endpoints/{id}', noParams, (processor, _params, id) => {
    processor.endpoints.get(id);
    processor.endpoints.remove(id);
    return { id, object: 'webhook_endpoint', deleted: true };
  }),
];

interface NewEndpoint {
  url: string;
  enabledEvents: string[];
  secret?: string;
  description?: string | null | undefined;
  metadata?: Stripe.Metadata | null | undefined;
}

/** Adds an endpoint for webhooks. The secret is drawn unless one is given. */
export const addEndpoint = (processor: Processor, options: NewEndpoint): Stripe.WebhookEndpoint =>
  processor.endpoints.add({
    id: processor.newId('we'),
    object: 'webhook_endpoint',
    api_version: API_VERSION,
    application: null,
    created: processor.now(),
    description: options.description ?? null,
    enabled_events: options.enabledEvents,
    livemode: false,
    metadata: options.metadata ?? {},
    secret: options.secret ?? `whsec_${randomBytes(24).toString('hex')}`,
    status: 'enabled',
    url: options.url,
  });

/** The secret is shown once, in the answer that makes the endpoint. */
const withoutSecret = ({ secret: _secret, ...endpoint }: Stripe.WebhookEndpoint): Stripe.WebhookEndpoint => endpoint;

const withPending = (processor: Processor, event: Stripe.Event): Stripe.Event => ({
  ...event,
  pending_webhooks: processor.countUndelivered(event.id),
});
