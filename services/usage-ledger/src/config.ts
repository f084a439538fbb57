import { regionConfig } from '@turnpike/config/commonConfig';
import { countSchema, limitsSchema } from '@turnpike/config/limits';
import type { ConfigOf } from '@turnpike/config/loadConfig';
import {
  databaseUrlSchema,
  kafkaBrokersSchema,
  keysPageUrlSchema,
  lookUpsPerSecondSchema,
  serviceSegmentSchema,
  serviceUrlSchema,
  storeCopiesSchema,
} from '@turnpike/config/sharedSettings';
import { z } from 'zod';

export const configSchema = z.object({
  ...regionConfig,
  /** Postgres database of usage, credits and the embedded event log. The service's role may only add to the books. */
  DATABASE_URL: databaseUrlSchema,
  /**
   * `several`: this starts only if a commit needs a synchronous standby, and a Kafka record two brokers, before it is
   * acknowledged. `one`: where the disks themselves are replicated, or what is recorded may be lost, as on a laptop.
   */
  STORE_COPIES: storeCopiesSchema,
  /** Auth's internal listener. */
  AUTH_INTERNAL_URL: serviceUrlSchema,
  /** Longest wait for auth's result for a key. After it the read request is refused with 503. */
  AUTH_TIMEOUT_MS: z.coerce.number().int().positive().default(500),
  /**
   * Longest time for balances that a call waits for. The router and media-jobs need the same value, because they wait
   * no longer.
   */
  LEDGER_TIMEOUT_MS: z.coerce.number().int().positive().default(1_000),
  /** A router's internal listener. It returns what Redis counts, and receives credit that is taken. */
  ROUTER_INTERNAL_URL: serviceUrlSchema,
  /**
   * The control plane's internal listener. If unset, the region follows no credit feed, and only the operator adds
   * credits.
   */
  CONTROL_PLANE_INTERNAL_URL: serviceUrlSchema.optional(),
  /** The catalog's internal listener, for the prices of every version. */
  CATALOG_INTERNAL_URL: serviceUrlSchema,
  /**
   * Addresses of Kafka, comma separated. Without them events go to the embedded event log in this service's database.
   */
  KAFKA_BROKERS: kafkaBrokersSchema,
  /** The path segment of the usage routes: `/v1/svc/usage/…`. */
  SERVICE_SEGMENT: serviceSegmentSchema,
  /**
   * Page about keys and their limits: the `doc_url` of error 401 and of a key’s own 429. If unset, no error has one.
   */
  KEYS_PAGE_URL: keysPageUrlSchema,
  /** JSON: other values for limits of the service. */
  LIMITS: limitsSchema({
    /** Longest wait for Postgres in one usage request. After it the client gets 504. */
    USAGE_QUERY_TIMEOUT_MS: countSchema.default(5_000),
    /**
     * Read requests that one key may make a second in one process (burst: twice that). The same limit applies to the
     * new keys of one client address. A key is new if it was not seen for 5 s.
     */
    LOOK_UPS_PER_SECOND: lookUpsPerSecondSchema,
  }),
});

export type Config = ConfigOf<typeof configSchema>;
