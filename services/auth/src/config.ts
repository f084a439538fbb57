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
  /** Peppers of the stored key hashes: `id:secret`, comma separated. New keys are stored under the first, all are looked up. */
  KEY_PEPPERS: z.string().transform(parseSecrets),
  /** Longest wait for the database over a verdict on a key. Callers wait for as long, by their variable of the same name. */
  AUTH_TIMEOUT_MS: z.coerce.number().int().positive().default(500),
  /** The router's internal listener. */
  ROUTER_INTERNAL_URL: serviceUrlSchema,
  /** The internal listener of the control plane. Unset: the region follows no feed, and workspaces are the operator's alone. */
  CONTROL_PLANE_INTERNAL_URL: serviceUrlSchema.optional(),
  /** The service's own name segment: `/v1/svc/key`. */
  SERVICE_SEGMENT: serviceSegmentSchema,
  /** Page about keys and their limits: the `doc_url` of a 401 and of a key’s own 429. If unset, no answer has a `doc_url`. */
  KEYS_PAGE_URL: keysPageUrlSchema,
  /** JSON: other values for limits of the service. */
  LIMITS: limitsSchema({
    /** Longest wait for the router to say what a key has spent; past it the client gets 502. */
    ROUTER_TIMEOUT_MS: countSchema.default(1_000),
    /**
     * Look-ups that one key may make a second in one process, twice as many at once; and keys not seen for 5 s that one client
     * address may come with.
     */
    LOOK_UPS_PER_SECOND: lookUpsPerSecondSchema,
  }),
});

export type Config = ConfigOf<typeof configSchema>;
