import { jsonSchema, serviceUrlSchema } from '@turnpike/config/sharedSettings';
import type { Logger } from '@turnpike/logging/createLogger';
import type { ObjectStore } from '@turnpike/object-store/objectStore';
import { openObjectStore } from '@turnpike/object-store/openObjectStore';
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
      /** The place of the copies of invoices and credit notes: a folder on a laptop, otherwise a bucket, which has to exist. */
      documents: z.union([
        z.strictObject({ folder: z.string().startsWith('/', 'must be an absolute path') }),
        z.strictObject({
          url: serviceUrlSchema,
          region: z.string().min(1),
          bucket: z.string().min(1),
          access_key_id: z.string().min(1),
          secret_access_key: z.string().min(1),
        }),
      ]),
    })
    .nullable(),
);
type Settings = NonNullable<z.output<typeof paymentProcessorSchema>>;

/** The payment processor and our account there. */
export interface Payments {
  stripe: Stripe;
  webhookSecrets: readonly string[];
  taxCode: string;
  /** Whether the key moves real money. */
  isLive: boolean;
  /** The origin from which documents are read where a stand-in names another one. */
  fileOrigin: string | undefined;
}

/** Longest wait for an answer. Two retries of a call without one follow, under its idempotency key. */
const TIMEOUT_MS = 5_000;
const RETRIES = 2;

/** Opens the store for the copies of documents. Throws if it cannot be used. */
export function openDocumentStore({ documents }: Pick<Settings, 'documents'>, log: Logger): Promise<ObjectStore> {
  if ('folder' in documents) return openObjectStore({ OBJECT_STORE_FOLDER: documents.folder }, { log });
  const { url, region, bucket, access_key_id: accessKeyId, secret_access_key: secret } = documents;
  return openObjectStore(
    {
      ...{ OBJECT_STORE_URL: url, OBJECT_STORE_REGION: region, OBJECT_STORE_BUCKET: bucket },
      ...{ OBJECT_STORE_ACCESS_KEY_ID: accessKeyId, OBJECT_STORE_SECRET_ACCESS_KEY: secret },
    },
    { log },
  );
}

export function openPayments({
  secret_key: key,
  webhook_secrets: webhookSecrets,
  ...settings
}: Omit<Settings, 'documents'>): Payments {
  const { api_url: apiUrl, tax_code: taxCode } = settings;
  const stripe = new Stripe(key, {
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
    ...(apiUrl !== undefined && toPlace(new URL(apiUrl))),
  });
  return { stripe, webhookSecrets, taxCode, isLive: key.includes('_live_'), fileOrigin: apiUrl };
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
