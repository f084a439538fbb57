import { z } from 'zod';
import { publicKeysSchema, signingKeySchema } from './internalKeys.ts';
import { regionSchema } from './region.ts';
import { serviceUrlSchema } from './sharedSettings.ts';

export const portSchema = z.coerce
  .number()
  .int('must be a port number')
  .min(1, 'must be a port from 1 to 65535')
  .max(65_535, 'must be a port from 1 to 65535');

const shareSchema = z.coerce.number().min(0, 'must be from 0 to 1').max(1, 'must be from 0 to 1');

/** The variables that every service reads. */
export const commonConfig = {
  /** Address the service listens on; loopback on a laptop, all of the pod's addresses on Kubernetes. */
  LISTEN_HOST: z.string().default('127.0.0.1'),
  /** Listener that the edge proxies to. */
  PORT: portSchema,
  /** Listener for the fleet itself: internal routes, health, metrics. The edge never proxies to it. */
  INTERNAL_PORT: portSchema,
  /** The private key that signs this service's calls: `scope/service:id:key` (Ed25519). No other service has it. */
  INTERNAL_SIGNING_KEY: signingKeySchema,
  /** The public keys of all allowed callers: `scope/service:id:key`, comma separated. A service has two while its key is rotated. */
  INTERNAL_PUBLIC_KEYS: publicKeysSchema,
  /**
   * How long a stopping process still takes calls, and how long a connection may then be idle before it is closed. Set
   * it longer than load balancers take to notice that the process is not ready, and than callers keep idle connections.
   */
  DRAIN_SETTLE_MS: z.coerce.number().int().min(0).default(10_000),
  /** Lowest level that is logged: one JSON line an entry, on standard output. */
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** Base address of an OpenTelemetry collector that takes OTLP over HTTP. Without it nothing is traced. */
  OTEL_EXPORTER_OTLP_ENDPOINT: serviceUrlSchema.optional(),
  /** Version of the program, which its image sets. It is a label of `turnpike_build_info`. */
  BUILD_VERSION: z.string().max(64).default('dev'),
  /** Commit of the program, which its image sets. It is a label of `turnpike_build_info`. */
  BUILD_REVISION: z.string().max(64).default(''),
  /** Share of calls that are traced, 0 to 1. The edge decides for the whole call. */
  TRACE_SAMPLE_RATIO: shareSchema.default(0.01),
};

/** The variables that every service of a region reads. */
export const regionConfig = {
  /**
   * Region of the stack, which services of all regions do not read. Keys of another one are refused, and models not cleared for it do
   * not exist.
   */
  REGION: regionSchema,
  /**
   * Share of served requests that have a line in the access log, 0 to 1. Requests that were refused or failed all have one. Needs
   * `LOG_LEVEL` `info`. The control plane has no access log.
   */
  ACCESS_LOG_SAMPLE_RATIO: shareSchema.default(1),
  ...commonConfig,
};
