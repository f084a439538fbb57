import { regionConfig } from '@turnpike/config/commonConfig';
import { countSchema, limitsSchema } from '@turnpike/config/limits';
import type { ConfigOf } from '@turnpike/config/loadConfig';
import {
  databaseUrlSchema,
  imagesTimeoutMsSchema,
  kafkaBrokersSchema,
  keysPageUrlSchema,
  lookUpsPerSecondSchema,
  redisUrlSchema,
  serviceUrlSchema,
  spoolMaxBytesSchema,
  storeCopiesSchema,
} from '@turnpike/config/sharedSettings';
import { checkObjectStore, objectStoreSettings } from '@turnpike/object-store/objectStoreSettings';
import { parseHosts } from '@turnpike/request-reading/images/imageAddress';
import { z } from 'zod';

const milliseconds = z.coerce.number().int().positive();

export const configSchema = z
  .object({
    ...regionConfig,
    ...objectStoreSettings,
    /** Postgres database of jobs, with the role that owns it. */
    DATABASE_URL: databaseUrlSchema,
    /** Base address of the region for clients. Links to outputs begin with it. */
    PUBLIC_URL: serviceUrlSchema,
    /**
     * Page about keys, their limits and credit: the `doc_url` of errors 401, 402 and a key’s own 429. If unset, no
     * error has one.
     */
    KEYS_PAGE_URL: keysPageUrlSchema,
    /**
     * Redis of limits, holds and spend. It is the router's Redis, because both services hold money of the same
     * balances.
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
     * JSON file of the region's media backends: `{"backends": [{"id", "url", "engine", "model", "slots"}]}`. It is read
     * again when it changes.
     */
    MEDIA_BACKENDS_FILE: z.string().min(1),
    /** Hosts that clients' images may be fetched from although their address is private or their port unusual: `host:port`, comma separated. */
    IMAGE_PRIVATE_HOSTS: z.string().default('').transform(parseHosts),
    /** Folder of uploads and of conversions, private to this process. It is emptied at the start. */
    UPLOAD_DIR: z.string().min(1),
    /** Folder of the spool: completion events wait here until the ledger has recorded them. Each process has its own. */
    SPOOL_DIR: z.string().min(1),
    /** Kafka's brokers, comma separated. Without them events go to the ledger's embedded event log. */
    KAFKA_BROKERS: kafkaBrokersSchema,
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
      /** Memory for the bodies of all calls in progress. A call without room is refused with 503. */
      BODIES_MAX_BYTES: z.number().int().min(67_108_864).default(134_217_728),
      /** Disk for the uploads of all calls in progress. A call without room is refused with 503. */
      UPLOADS_MAX_BYTES: z.number().int().min(67_108_864).default(2_147_483_648),
      /** Size of a full spool. At nine tenths of it new calls are refused with 503, before an event could be lost. */
      SPOOL_MAX_BYTES: spoolMaxBytesSchema,
      /** Longest fetch of an image by URL, with name resolution, connections, redirects and bytes. */
      IMAGES_TIMEOUT_MS: imagesTimeoutMsSchema,
      /**
       * Time that a hold outlives the last renewal by the process that took it. Renewed once a second, or at a quarter
       * of it if that is sooner.
       */
      LEASE_MS: countSchema.default(60_000),
      /**
       * Reads and deletes of jobs, contents and lists that one key may make a second in one process (burst: twice
       * that).
       */
      LOOK_UPS_PER_SECOND: lookUpsPerSecondSchema,
      /** Jobs of one key that are rendered at a time. Its other jobs wait and let jobs of other keys pass. */
      ACTIVE_JOBS_PER_KEY: countSchema.default(8),
      /** Jobs of one model that one key may have in the queue. A call that would add another is refused with 429. */
      QUEUED_JOBS_PER_KEY: countSchema.default(500),
      /**
       * Minutes of backend time that one key may use for jobs that it cancels while they run, per process and in as
       * many minutes. Each such job counts at least 10 s. Above that, calls that would make a job are refused with 429.
       */
      CANCELLED_MINUTES_PER_KEY: countSchema.default(30),
    }),
  })
  .superRefine(checkObjectStore);

export type Config = ConfigOf<typeof configSchema>;
