import { regionConfig } from '@turnpike/config/commonConfig';
import { countSchema, limitsSchema } from '@turnpike/config/limits';
import type { ConfigOf } from '@turnpike/config/loadConfig';
import { parseSecrets } from '@turnpike/config/secrets';
import {
  databaseUrlSchema,
  keysPageUrlSchema,
  lookUpsPerSecondSchema,
  serviceSegmentSchema,
  serviceUrlSchema,
} from '@turnpike/config/sharedSettings';
import { z } from 'zod';

export const configSchema = z.object({
  ...regionConfig,
  /** Postgres database of keys and workspaces, with the role that owns it. */
  DATABASE_URL: databaseUrlSchema,
  /** Peppers of the stored key hashes: `id:secret`, comma separated. New keys are stored under the first; a key is found under any. */
  KEY_PEPPERS: z.string().transform(parseSecrets),
  /** Longest wait for the database to check a key. Callers wait as long, by their variable of the same name. */
  AUTH_TIMEOUT_MS: z.coerce.number().int().positive().default(500),
  /** The router's internal listener. */
  ROUTER_INTERNAL_URL: serviceUrlSchema,
  /** The internal listener of the control plane. Unset: the region follows no feed, and only operators create workspaces. */
  CONTROL_PLANE_INTERNAL_URL: serviceUrlSchema.optional(),
  /** The service's own name segment: `/v1/svc/key`. */
  SERVICE_SEGMENT: serviceSegmentSchema,
  /** Page about keys and their limits: the `doc_url` of a 401 and of a key’s own 429. If unset, no response has a `doc_url`. */
  KEYS_PAGE_URL: keysPageUrlSchema,
  /** JSON: other values for limits of the service. */
  LIMITS: limitsSchema({
    /** Longest wait for the router's answer about the spend of a key; past it the client gets 502. */
    ROUTER_TIMEOUT_MS: countSchema.default(1_000),
    /**
     * Read requests that one key may make a second in one process (burst: twice that). The same limit applies to the
     * new keys of one client address. A key is new if it was not seen for 5 s.
     */
    LOOK_UPS_PER_SECOND: lookUpsPerSecondSchema,
  }),
});

export type Config = ConfigOf<typeof configSchema>;
