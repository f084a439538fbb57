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
  /** Page about keys, their limits and credit: the `doc_url` of a 401, 402 and a key’s own 429. If unset, no answer has one. */
  KEYS_PAGE_URL: keysPageUrlSchema,
  /** Redis of limits, holds and spend; its database has to persist and must not evict. Of a Redis Cluster: some of its nodes, comma separated. */
  REDIS_URL: redisUrlSchema,
  /**
   * `several`: Redis must refuse writes that no replica gets (`min-replicas-to-write`), or this does not start; a topic of Kafka is made
   * with three replicas. `one`: where the disks themselves are replicated, or what they hold may be lost, as on a laptop.
   */
  STORE_COPIES: storeCopiesSchema,
  /** Auth's internal listener. */
  AUTH_INTERNAL_URL: serviceUrlSchema,
  /** The catalog's internal listener. */
  CATALOG_INTERNAL_URL: serviceUrlSchema,
  /** The ledger's internal listener. */
  LEDGER_INTERNAL_URL: serviceUrlSchema,
  /** JSON file listing the region's engines: `{"engines": [{"id"?, "url" or "discover", "model"?, "weight"?, "draining"?}]}`; read again when it changes. */
  ENGINES_FILE: z.string().min(1),
  /** Set by Kubernetes: where its API is, for `k8s://` entries of the engines file. */
  KUBERNETES_SERVICE_HOST: z.string().min(1).optional(),
  /** Set by Kubernetes: the port of its API. */
  KUBERNETES_SERVICE_PORT: z.coerce.number().int().default(443),
  /** Folder of the spool: completion events wait here until the ledger has recorded them. */
  SPOOL_DIR: z.string().min(1),
  /** Kafka's brokers, comma separated; without them events go to the ledger's embedded event log. */
  KAFKA_BROKERS: kafkaBrokersSchema,
  /** Hosts that clients' images may be fetched from although their address is private or their port unusual: `host:port`, comma separated. Whoever has a key can make the router ask there. */
  IMAGE_PRIVATE_HOSTS: z.string().default('').transform(parseHosts),
  /** Keys of the per-workspace prefix-cache salt: `id:secret`, comma separated. The first is in use. */
  CACHE_SALT_KEYS: z.string().transform(parseSecrets),
  /** Longest wait for auth's verdict on a key; past it the call is refused with 503. */
  AUTH_TIMEOUT_MS: milliseconds.default(500),
  /** Longest wait for the ledger's balances of a workspace that Redis has none of; past it the call is refused with 503. */
  LEDGER_TIMEOUT_MS: milliseconds.default(1_000),
  /** Longest wait for Redis to decide on a call; past it the call is refused with 503. */
  REDIS_TIMEOUT_MS: milliseconds.default(250),
  /** JSON: other values for limits of the service. */
  LIMITS: limitsSchema({
    /** Longest wait for an engine with room; past it the call is refused with 503. */
    QUEUE_TIMEOUT_MS: countSchema.default(20_000),
    /** A call that is expected to wait longer for an engine, as calls have their turns now, is refused at once. */
    QUEUE_EXPECTED_WAIT_MS: countSchema.default(3_000),
    /** Part of a model's queue that one key may have, 0 to 1. */
    QUEUE_KEY_SHARE: z.number().positive().max(1).default(0.25),
    /** Calls that an engine is given at a time until it has shown how many run there; then what it shows counts. */
    ENGINE_CALLS: countSchema.default(256),
    /** Tokens, of prompts and answers, that an engine is given at a time which does not say how many its cache holds. */
    ENGINE_TOKENS: countSchema.default(262_144),
    /** Size of a full spool. At nine tenths of it new calls are refused with 503, before an event could be lost. */
    SPOOL_MAX_BYTES: spoolMaxBytesSchema,
    /** Memory for the bodies and whole (unstreamed) answers of all calls under way; a call that finds no room is refused with 503. Either takes some three times its size. */
    BODIES_MAX_BYTES: z.number().int().min(67_108_864).default(268_435_456),
    /** Bytes of bodies that a key may send in a second, and of 2 s at once, for calls that are then refused; past it its calls are refused with 429 for a while. Reading 4 MiB in vain takes some 40 ms of a processor. */
    REFUSED_BODIES_BYTES_PER_SECOND: z.number().int().min(65_536).default(4_194_304),
    /** Longest fetch of all images of a call together: names, connections, redirects and bytes. The edge has to have the same. */
    IMAGES_TIMEOUT_MS: imagesTimeoutMsSchema,
    /** How long a hold outlives the last sign of life of the router that took it. Renewed once a second, or at a quarter of it if that is sooner. */
    LEASE_MS: countSchema.default(60_000),
    /** Longest wait for an engine's first event. */
    FIRST_EVENT_TIMEOUT_MS: countSchema.default(60_000),
    /** Longest silence of an engine between two events. */
    BETWEEN_EVENTS_TIMEOUT_MS: countSchema.default(30_000),
    /** Longest whole (unstreamed) answer, with its wait for an engine. The edge has to have the same. */
    WHOLE_TIMEOUT_MS: wholeTimeoutMsSchema,
    /** Base time of a stream, which may take 200 ms more for each token; also how long streams go on after a router was told to stop. The edge has to have the same. */
    STREAM_TIMEOUT_MS: streamTimeoutMsSchema,
    /** After this long without a first event a stream's headers go out, and comment lines follow. */
    HEADERS_AFTER_MS: countSchema.default(10_000),
    /** Silence after which a comment line keeps a stream's connection alive. */
    KEEP_ALIVE_MS: countSchema.default(15_000),
  }),
});
export type Config = ConfigOf<typeof configSchema>;

/** How the API of the cluster is reached; undefined outside one. */
export const toKubernetesApi = (config: Config): KubernetesApi | undefined =>
  config.KUBERNETES_SERVICE_HOST === undefined
    ? undefined
    : {
        url: `https://${toAuthority(config.KUBERNETES_SERVICE_HOST)}:${config.KUBERNETES_SERVICE_PORT}`,
        accountDir: '/var/run/secrets/kubernetes.io/serviceaccount',
      };

const toAuthority = (host: string): string => (host.includes(':') ? `[${host}]` : host);
