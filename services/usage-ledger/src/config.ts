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
  /** Postgres database of usage, credits and the embedded event log, with the service's role, which may only add to the books. */
  DATABASE_URL: databaseUrlSchema,
  /**
   * `several`: a commit has to be on a synchronous standby as well before it is acknowledged, and a record of Kafka on two brokers, or
   * this does not start. `one`: where the disks themselves are replicated, or what is recorded may be lost, as on a laptop.
   */
  STORE_COPIES: storeCopiesSchema,
  /** Auth's internal listener. */
  AUTH_INTERNAL_URL: serviceUrlSchema,
  /** Longest wait for auth's verdict on a key; past it the look-up is refused with 503. */
  AUTH_TIMEOUT_MS: z.coerce.number().int().positive().default(500),
  /** Longest time for the balances that a call waits for. The router and media-jobs have to have the same: they wait no longer. */
  LEDGER_TIMEOUT_MS: z.coerce.number().int().positive().default(1_000),
  /** A router's internal listener: it says what Redis counts, and hears of credit that is taken. */
  ROUTER_INTERNAL_URL: serviceUrlSchema,
  /** The internal listener of the control plane. Unset: the region follows no feed, and credits are the operator's alone. */
  CONTROL_PLANE_INTERNAL_URL: serviceUrlSchema.optional(),
  /** The catalog's internal listener: it keeps the prices of every version. */
  CATALOG_INTERNAL_URL: serviceUrlSchema,
  /** Addresses of Kafka, comma separated. Without them the event log is the embedded one, kept in this service's database. */
  KAFKA_BROKERS: kafkaBrokersSchema,
  /** The path segment of the look-ups: `/v1/svc/usage/…`. */
  SERVICE_SEGMENT: serviceSegmentSchema,
  /** Page about keys and their limits: the `doc_url` of a 401 and of a key’s own 429. If unset, no answer has a `doc_url`. */
  KEYS_PAGE_URL: keysPageUrlSchema,
  /** JSON: other values for limits of the service. */
  LIMITS: limitsSchema({
    /** Longest wait on Postgres for one usage look-up; past it the client gets 504. */
    USAGE_QUERY_TIMEOUT_MS: countSchema.default(5_000),
    /**
     * Look-ups that one key may make a second in one process, twice as many at once; and keys not seen for 5 s that one client
     * address may come with.
     */
    LOOK_UPS_PER_SECOND: lookUpsPerSecondSchema,
  }),
});

export type Config = ConfigOf<typeof configSchema>;
