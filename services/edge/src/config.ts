import { portSchema, regionConfig } from '@turnpike/config/commonConfig';
import { countSchema, limitsSchema } from '@turnpike/config/limits';
import type { ConfigOf } from '@turnpike/config/loadConfig';
import {
  browserOriginSchema,
  imagesTimeoutMsSchema,
  redisUrlSchema,
  serviceSegmentSchema,
  serviceUrlSchema,
  streamTimeoutMsSchema,
  wholeTimeoutMsSchema,
} from '@turnpike/config/sharedSettings';
import { z } from 'zod';

/** Plain HTTP is all that the edge speaks to services: TLS on that network is its own business. */
const proxiedUrlSchema = z.url({ protocol: /^http$/, error: 'must be an http:// address' });

export const configSchema = z.object({
  ...regionConfig,
  /** Auth's public listener. */
  AUTH_URL: proxiedUrlSchema,
  /** The catalog's public listener. */
  CATALOG_URL: proxiedUrlSchema,
  /** The router's public listener. */
  ROUTER_URL: proxiedUrlSchema,
  /** The public listener of media-jobs. */
  MEDIA_URL: proxiedUrlSchema,
  /** The ledger's public listener. */
  LEDGER_URL: proxiedUrlSchema,
  /** Listener for browsers: the console host of the region. The edge serves nothing of the API there. */
  CONSOLE_PORT: portSchema,
  /** The one origin whose pages may call the console host: `ACCOUNT_ORIGIN` of the control plane. */
  CONSOLE_ALLOWED_ORIGIN: browserOriginSchema,
  /** Auth's internal listener, for the console host. */
  AUTH_INTERNAL_URL: serviceUrlSchema,
  /** Longest wait of a service for auth to check a key. Services have the same value, and the edge waits for them that much longer. */
  AUTH_TIMEOUT_MS: z.coerce.number().int().positive().default(500),
  /** The catalog's internal listener, for the console host. */
  CATALOG_INTERNAL_URL: serviceUrlSchema,
  /** The ledger's internal listener, for the console host. */
  LEDGER_INTERNAL_URL: serviceUrlSchema,
  /** The internal listener of media-jobs, for the console host. */
  MEDIA_INTERNAL_URL: serviceUrlSchema,
  /** How many proxies in front of the edge append to `X-Forwarded-For`. 0: clients connect directly. */
  TRUSTED_HOPS: z.coerce.number().int().min(0),
  /**
   * Redis by which the flood limit holds over all edges; without it each edge counts alone. Either the region's Redis, with a user
   * for nothing else, or one whose data may be lost. Of a Redis Cluster: some of its nodes, comma separated.
   */
  REDIS_URL: redisUrlSchema,
  /** The service's own name segment in `/v1/svc/…`. */
  SERVICE_SEGMENT: serviceSegmentSchema,
  /** JSON: other values for limits of the service. */
  LIMITS: limitsSchema({
    /** Flood limit per source IP, over all edges. The API and the console host have separate counts. */
    FLOOD_REQUESTS_PER_MINUTE: countSchema.default(6_000),
    /** Requests that a source IP may send in a burst before the flood limit applies. */
    FLOOD_BURST: countSchema.default(1_000),
    /** The longest fetch of a call's images; the router's limit of the same name. */
    IMAGES_TIMEOUT_MS: imagesTimeoutMsSchema,
    /**
     * The longest response that is not streamed; the router's limit of the same name. The edge waits for the router as long as
     * these limits allow, and a little more.
     */
    WHOLE_TIMEOUT_MS: wholeTimeoutMsSchema,
    /** How long streams go on after the edge's signal to stop; the router's limit of the same name. */
    STREAM_TIMEOUT_MS: streamTimeoutMsSchema,
  }),
});

export type Config = ConfigOf<typeof configSchema>;
