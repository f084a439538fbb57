import { commonConfig } from '@turnpike/config/commonConfig';
import { parseSecrets } from '@turnpike/config/secrets';
import { kafkaBrokersSchema } from '@turnpike/config/sharedSettings';
import { z } from 'zod';

const milliseconds = z.coerce.number().int().positive();

export const configSchema = z.object({
  ...commonConfig,
  /** Redis of limits, holds and spend; its database has to persist and must not evict. */
  REDIS_URL: z.url(),
  /** Auth's internal listener. */
  AUTH_INTERNAL_URL: z.url(),
  /** The catalog's internal listener. */
  CATALOG_INTERNAL_URL: z.url(),
  /** The ledger's internal listener. */
  LEDGER_INTERNAL_URL: z.url(),
  /** JSON file listing the region's engines: `{"engines": [{"id", "url", "model"?}]}`. */
  ENGINES_FILE: z.string().min(1),
  /** Folder of the spool: completion events wait here until the event log has acknowledged them. */
  SPOOL_DIR: z.string().min(1),
  /** Size of a full spool. At nine tenths of it new calls are refused with 503, before an event could be lost. */
  SPOOL_MAX_BYTES: z.coerce
    .number()
    .int()
    .min(16_777_216, 'must be at least 16777216: the spool is kept in files of 4 MiB')
    .default(67_108_864),
  /** Kafka's brokers, comma separated; without them events go to the ledger's embedded event log. */
  KAFKA_BROKERS: kafkaBrokersSchema,
  /** Memory for the bodies of all calls under way; a call that finds no room is refused with 503. A body takes some three times its size. */
  BODIES_MAX_BYTES: z.coerce.number().int().min(67_108_864).default(268_435_456),
  /** Keys of the per-workspace prefix-cache salt: `id:secret`, comma separated. The first is in use. */
  CACHE_SALT_KEYS: z.string().transform(parseSecrets),
  /** How long a hold outlives the last sign of life of the router that took it. Renewed at a quarter of it. */
  LEASE_MS: milliseconds.default(60_000),
  /** Longest wait for Redis to decide on a call; past it the call is refused with 503. */
  REDIS_TIMEOUT_MS: milliseconds.default(250),
  /** Longest wait for an engine's first event. */
  FIRST_EVENT_TIMEOUT_MS: milliseconds.default(60_000),
  /** Longest silence of an engine between two events. */
  BETWEEN_EVENTS_TIMEOUT_MS: milliseconds.default(30_000),
  /** Longest whole (unstreamed) answer. */
  WHOLE_TIMEOUT_MS: milliseconds.default(300_000),
  /** Longest stream. */
  STREAM_TIMEOUT_MS: milliseconds.default(600_000),
  /** After this long without a first event a stream's headers go out, and comment lines follow. */
  HEADERS_AFTER_MS: milliseconds.default(10_000),
  /** Silence after which a comment line keeps a stream's connection alive. */
  KEEP_ALIVE_MS: milliseconds.default(15_000),
  /** How long a client may leave a stream unread before it is cut and the engine's work cancelled. */
  SLOW_READER_TIMEOUT_MS: milliseconds.default(60_000),
});
export type Config = z.infer<typeof configSchema>;
