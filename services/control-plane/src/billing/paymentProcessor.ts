import { jsonSchema, serviceUrlSchema } from '@turnpike/config/sharedSettings';
import { ApiError } from '@turnpike/public-api/apiError';
import Stripe from 'stripe';
import { z } from 'zod';

/** The account at the payment processor, as JSON. */
export const paymentProcessorSchema = jsonSchema.pipe(
  z
    .strictObject({
      secret_key: z.string().regex(/^[sr]k_(test|live)_\w{8,}$/, 'must be a secret or restricted key'),
      /** They sign webhooks. There are two while one is changed. */
      webhook_secrets: z
        .array(z.string().regex(/^whsec_\w{16,}$/, 'must be the secret of an endpoint'))
        .min(1)
        .max(4),
      /** The address of a stand-in. Absent: the processor's own. */
      api_url: serviceUrlSchema.optional(),
      /** The kind of the sold service, by which the processor taxes it. */
      tax_code: z
        .string()
        .regex(/^txcd_\d{8}$/, 'must be a tax code')
        .default('txcd_10105001'),
    })
    .nullable(),
);
type Settings = NonNullable<z.output<typeof paymentProcessorSchema>>;

/** The payment processor and our account there. */
export interface Payments {
  stripe: Stripe;
  webhookSecrets: readonly string[];
  taxCode: string;
}

/** Longest wait for an answer. Two retries of a call without one follow, under its idempotency key. */
const TIMEOUT_MS = 5_000;
const RETRIES = 2;

export function openPayments({ secret_key: key, webhook_secrets: webhookSecrets, ...settings }: Settings): Payments {
  const { api_url: apiUrl, tax_code: taxCode } = settings;
  const stripe = new Stripe(key, {
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
    ...(apiUrl !== undefined && toPlace(new URL(apiUrl))),
  });
  return { stripe, webhookSecrets, taxCode };
}

function toPlace({ protocol, hostname, port }: URL) {
  const isPlain = protocol === 'http:';
  return {
    protocol: isPlain ? ('http' as const) : ('https' as const),
    host: hostname,
    port: port === '' ? (isPlain ? 80 : 443) : Number(port),
  };
}

/** Throws `payments_away` in place of an error of the processor or of the way to it, and any other error as it is. */
export function throwPaymentsAway(error: unknown): never {
  if (!(error instanceof Stripe.errors.StripeError)) throw error;
  throw new ApiError({ kind: 'payments_away' }, { cause: error });
}
