import { regionConfig } from '@turnpike/config/commonConfig';
import { countSchema, limitsSchema } from '@turnpike/config/limits';
import type { ConfigOf } from '@turnpike/config/loadConfig';
import {
  databaseUrlSchema,
  keysPageUrlSchema,
  lookUpsPerSecondSchema,
  redisUrlSchema,
  serviceUrlSchema,
} from '@turnpike/config/sharedSettings';
import { z } from 'zod';

export const configSchema = z.object({
  ...regionConfig,
  /** Postgres database of the catalog's versions, with the role that owns it. */
  DATABASE_URL: databaseUrlSchema,
  /** The region's models and prices, YAML. Read again when it changes. */
  CATALOG_FILE: z.string().min(1),
  /** Auth's internal listener. */
  AUTH_INTERNAL_URL: serviceUrlSchema,
  /** Longest wait for auth to check a key; past it the caller gets 502. */
  AUTH_TIMEOUT_MS: z.coerce.number().int().positive().default(500),
  /** The router's internal listener. */
  ROUTER_INTERNAL_URL: serviceUrlSchema,
  /** The internal listener of media-jobs. */
  MEDIA_INTERNAL_URL: serviceUrlSchema,
  /**
   * Redis by which the limits of the model list hold over all replicas; without it each replica counts alone. The same rules
   * hold as for the edge's.
   */
  REDIS_URL: redisUrlSchema,
  /** Page about keys and their limits: the `doc_url` of a 401 and of a key’s own 429. If unset, no response has a `doc_url`. */
  KEYS_PAGE_URL: keysPageUrlSchema,
  /** JSON: other values for limits of the service. */
  LIMITS: limitsSchema({
    /** Model lists that one client address may request from the region. */
    MODEL_LIST_PER_IP_PER_MINUTE: countSchema.default(120),
    /** Model lists that the region serves in all. */
    MODEL_LIST_PER_MINUTE: countSchema.default(6_000),
    /**
     * Model lists that one key may request a second in one process, from all addresses together (burst: twice that). The
     * same limit applies to the new keys of one client address. A key is new if it was not seen for 5 s.
     */
    LOOK_UPS_PER_SECOND: lookUpsPerSecondSchema,
  }),
});
export type Config = ConfigOf<typeof configSchema>;
