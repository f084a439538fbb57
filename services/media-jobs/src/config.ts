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
    /** Base address by which clients reach the region: links to what was made begin with it. */
    PUBLIC_URL: serviceUrlSchema,
    /** Page about keys, their limits and credit: the `doc_url` of a 401, 402 and a key’s own 429. If unset, no answer has one. */
    KEYS_PAGE_URL: keysPageUrlSchema,
    /** Redis of limits, holds and spend: the router's, as the two hold money of the same balances. */
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
    /** JSON file listing the region's media backends: `{"backends": [{"id", "url", "engine", "model", "slots"}]}`; read again when it changes. */
    MEDIA_BACKENDS_FILE: z.string().min(1),
    /** Hosts that clients' images may be fetched from although their address is private or their port unusual: `host:port`, comma separated. */
    IMAGE_PRIVATE_HOSTS: z.string().default('').transform(parseHosts),
    /** Folder of uploads and of what is being converted, private to this process; emptied at its start. */
    UPLOAD_DIR: z.string().min(1),
    /** Folder of the spool: completion events wait here until the ledger has recorded them. Each process has its own. */
    SPOOL_DIR: z.string().min(1),
    /** Kafka's brokers, comma separated; without them events go to the ledger's embedded event log. */
    KAFKA_BROKERS: kafkaBrokersSchema,
    /** Longest wait for auth's verdict on a key; past it the call is refused with 503. */
    AUTH_TIMEOUT_MS: milliseconds.default(500),
    /** Longest wait for the ledger's balances of a workspace that Redis has none of; past it the call is refused with 503. */
    LEDGER_TIMEOUT_MS: milliseconds.default(1_000),
    /** Longest wait for Redis to decide on a call; past it the call is refused with 503. */
    REDIS_TIMEOUT_MS: milliseconds.default(250),
    /** JSON: other values for limits of the service. */
    LIMITS: limitsSchema({
      /** Memory for the bodies of all calls under way; a call that finds no room is refused with 503. */
      BODIES_MAX_BYTES: z.number().int().min(67_108_864).default(134_217_728),
      /** Disk for the uploads of all calls under way; a call that finds no room is refused with 503. */
      UPLOADS_MAX_BYTES: z.number().int().min(67_108_864).default(2_147_483_648),
      /** Size of a full spool. At nine tenths of it new calls are refused with 503, before an event could be lost. */
      SPOOL_MAX_BYTES: spoolMaxBytesSchema,
      /** Longest fetch of an image that a client names by its address: names, connections, redirects and bytes. */
      IMAGES_TIMEOUT_MS: imagesTimeoutMsSchema,
      /** How long a hold outlives the last sign of life of the process that took it. Renewed once a second, or at a quarter of it if that is sooner. */
      LEASE_MS: countSchema.default(60_000),
      /** Reads of jobs, contents and lists, and deletes, that one key may make a second in one process, twice as many at once. */
      LOOK_UPS_PER_SECOND: lookUpsPerSecondSchema,
      /** Jobs of one key that are rendered at a time; the others of it wait, and let jobs of other keys pass. */
      ACTIVE_JOBS_PER_KEY: countSchema.default(8),
      /** Jobs of one model that one key may have waiting for their turn; a call that would make another one is refused with 429. */
      QUEUED_JOBS_PER_KEY: countSchema.default(500),
      /**
       * Minutes of backends, in as many minutes and in one process, that one key may have for jobs which it cancels while they run; 10 s at
       * least for each. A call that would make a job is refused with 429 beyond.
       */
      CANCELLED_MINUTES_PER_KEY: countSchema.default(30),
    }),
  })
  .superRefine(checkObjectStore);

export type Config = ConfigOf<typeof configSchema>;
