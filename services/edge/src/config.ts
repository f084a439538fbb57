import { commonConfig } from '@turnpike/config/commonConfig';
import {
  imagesTimeoutMsSchema,
  serviceSegmentSchema,
  serviceUrlSchema,
  streamTimeoutMsSchema,
  wholeTimeoutMsSchema,
} from '@turnpike/config/sharedSettings';
import { z } from 'zod';

export const configSchema = z.object({
  ...commonConfig,
  /** Auth's public listener. */
  AUTH_URL: serviceUrlSchema,
  /** The catalog's public listener. */
  CATALOG_URL: serviceUrlSchema,
  /** The router's public listener. */
  ROUTER_URL: serviceUrlSchema,
  /** The public listener of media-jobs. */
  MEDIA_URL: serviceUrlSchema,
  /** The ledger's public listener. */
  LEDGER_URL: serviceUrlSchema,
  /** How many proxies in front of the edge append to `X-Forwarded-For`. 0: clients connect directly. */
  TRUSTED_HOPS: z.coerce.number().int().min(0),
  /** Flood limit per source IP (specification, Limits). */
  FLOOD_REQUESTS_PER_MINUTE: z.coerce.number().int().positive().default(6_000),
  /** Requests that a source IP may send at once before the flood limit's pace holds. */
  FLOOD_BURST: z.coerce.number().int().positive().default(1_000),
  /** The longest fetch of a call's images; the router's variable of the same name. */
  IMAGES_TIMEOUT_MS: imagesTimeoutMsSchema,
  /**
   * The longest whole answer; the router's variable of the same name. The edge waits for the router as long as these allow
   * it, and a little more.
   */
  WHOLE_TIMEOUT_MS: wholeTimeoutMsSchema,
  /** The longest stream, which the edge lets end before it ends itself; the router's variable of the same name. */
  STREAM_TIMEOUT_MS: streamTimeoutMsSchema,
  /** The service's own name segment in `/v1/svc/…`. */
  SERVICE_SEGMENT: serviceSegmentSchema,
});

export type Config = z.infer<typeof configSchema>;
