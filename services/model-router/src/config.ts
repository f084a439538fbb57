import { regionConfig } from '@turnpike/config/commonConfig';
import { countSchema, limitsSchema } from '@turnpike/config/limits';
import type { ConfigOf } from '@turnpike/config/loadConfig';
import { parseSecrets } from '@turnpike/config/secrets';
import {
  imagesTimeoutMsSchema,
  kafkaBrokersSchema,
  keysPageUrlSchema,
  redisUrlSchema,
  serviceUrlSchema,
  spoolMaxBytesSchema,
  storeCopiesSchema,
  streamTimeoutMsSchema,
  wholeTimeoutMsSchema,
} from '@turnpike/config/sharedSettings';
import { parseHosts } from '@turnpike/request-reading/images/imageAddress';
import { z } from 'zod';
import type { KubernetesApi } from './engines/discovery/listEndpoints.ts';

const milliseconds = z.coerce.number().int().positive();

export const configSchema = z.object({
  ...regionConfig,
  /**
   * Page about keys, their limits and credit: the `doc_url` of errors 401, 402 and a key’s own 429. If unset, no error
   * has one.
   */
  KEYS_PAGE_URL: keysPageUrlSchema,
  /**
   * Redis of limits, holds and spend. Its database has to persist and must not evict. For a Redis Cluster: some of its
   * nodes, comma separated.
   */
  REDIS_URL: redisUrlSchema,
  /**
   * `several`: Redis must refuse writes that no replica gets (`min-replicas-to-write`), or this does not start. A topic of Kafka is created
   * with three replicas. `one`: the disks themselves are replicated, or their data may be lost, as on a laptop.
   */
  STORE_COPIES: storeCopiesSchema,
  /** Auth's internal listener. */
  AUTH_INTERNAL_URL: serviceUrlSchema,
  /** The catalog's internal listener. */
  CATALOG_INTERNAL_URL: serviceUrlSchema,
  /** The ledger's internal listener. */
  LEDGER_INTERNAL_URL: serviceUrlSchema,
  /**
   * JSON file of the region's engines: `{"engines": [{"id"?, "url" or "discover", "model"?, "weight"?, "draining"?}]}`.
   * It is read again when it changes.
   */
  ENGINES_FILE: z.string().min(1),
  /** Set by Kubernetes: the address of its API, for `k8s://` entries of the engines file. */
  KUBERNETES_SERVICE_HOST: z.string().min(1).optional(),
  /** Set by Kubernetes: the port of its API. */
  KUBERNETES_SERVICE_PORT: z.coerce.number().int().default(443),
  /** Folder of the spool: completion events wait here until the ledger has recorded them. */
  SPOOL_DIR: z.string().min(1),
  /** Kafka's brokers, comma separated. Without them events go to the ledger's embedded event log. */
  KAFKA_BROKERS: kafkaBrokersSchema,
  /**
   * Hosts that clients' images may be fetched from although their address is private or their port unusual:
   * `host:port`, comma separated. Any client with a key can make the router send requests there.
   */
  IMAGE_PRIVATE_HOSTS: z.string().default('').transform(parseHosts),
  /** Keys of the per-workspace prefix-cache salt: `id:secret`, comma separated. The first is in use. */
  CACHE_SALT_KEYS: z.string().transform(parseSecrets),
  /** Longest wait for auth's result for a key. After it the call is refused with 503. */
  AUTH_TIMEOUT_MS: milliseconds.default(500),
  /**
   * Longest wait for the ledger's balances of a workspace that Redis does not have. After it the call is refused with
   * 503.
   */
  LEDGER_TIMEOUT_MS: milliseconds.default(1_000),
  /** Longest wait for Redis to decide on a call. After it the call is refused with 503. */
  REDIS_TIMEOUT_MS: milliseconds.default(250),
  /** JSON: other values for limits of the service. */
  LIMITS: limitsSchema({
    /** Longest wait for an engine with room. After it the call is refused with 503. */
    QUEUE_TIMEOUT_MS: countSchema.default(20_000),
    /** Longest expected wait for an engine, at the current rate of turns. A call above it is refused at once. */
    QUEUE_EXPECTED_WAIT_MS: countSchema.default(3_000),
    /** Part of a model's queue that one key may have, 0 to 1. */
    QUEUE_KEY_SHARE: z.number().positive().max(1).default(0.25),
    /** Concurrent calls on an engine until its reports show how many it can run. */
    ENGINE_CALLS: countSchema.default(256),
    /** Tokens of prompts and answers in progress on an engine that does not report its cache capacity. */
    ENGINE_TOKENS: countSchema.default(262_144),
    /** Size of a full spool. At nine tenths of it new calls are refused with 503, before an event could be lost. */
    SPOOL_MAX_BYTES: spoolMaxBytesSchema,
    /**
     * Memory for the bodies and non-streaming answers of all calls in progress. A call without room is refused with
     * 503. Either takes some three times its size.
     */
    BODIES_MAX_BYTES: z.number().int().min(67_108_864).default(268_435_456),
    /**
     * Bytes a second that a key may send in bodies of calls that are then refused (burst: 2 s). Above that its calls
     * are refused with 429 for a while. Reading 4 MiB takes some 40 ms of CPU time.
     */
    REFUSED_BODIES_BYTES_PER_SECOND: z.number().int().min(65_536).default(4_194_304),
    /**
     * Longest fetch of all images of a call together: names, connections, redirects and bytes. The edge needs the same
     * value.
     */
    IMAGES_TIMEOUT_MS: imagesTimeoutMsSchema,
    /**
     * Time that a hold outlives the last renewal by the router that took it. Renewed once a second, or at a quarter of
     * it if that is sooner.
     */
    LEASE_MS: countSchema.default(60_000),
    /** Longest wait for an engine's first event. */
    FIRST_EVENT_TIMEOUT_MS: countSchema.default(60_000),
    /** Longest silence of an engine between two events. */
    BETWEEN_EVENTS_TIMEOUT_MS: countSchema.default(30_000),
    /** Longest non-streaming answer, with its wait for an engine. The edge needs the same value. */
    WHOLE_TIMEOUT_MS: wholeTimeoutMsSchema,
    /**
     * Base time of a stream; each token adds 200 ms. Streams also go on for this time after a router was told to stop.
     * The edge needs the same value.
     */
    STREAM_TIMEOUT_MS: streamTimeoutMsSchema,
    /** Time without a first event after which a stream's headers are sent and comment lines follow. */
    HEADERS_AFTER_MS: countSchema.default(10_000),
    /** Silence after which a comment line keeps a stream's connection alive. */
    KEEP_ALIVE_MS: countSchema.default(15_000),
  }),
});
export type Config = ConfigOf<typeof configSchema>;

/** Returns the address of the cluster's API. Undefined outside a cluster. */
export const toKubernetesApi = (config: Config): KubernetesApi | undefined =>
  config.KUBERNETES_SERVICE_HOST === undefined
    ? undefined
    : {
        url: `https://${toAuthority(config.KUBERNETES_SERVICE_HOST)}:${config.KUBERNETES_SERVICE_PORT}`,
        accountDir: '/var/run/secrets/kubernetes.io/serviceaccount',
      };

const toAuthority = (host: string): string => (host.includes(':') ? `[${host}]` : host);
