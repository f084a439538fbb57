import { commonConfig } from '@turnpike/config/commonConfig';
import { kafkaBrokersSchema, serviceSegmentSchema } from '@turnpike/config/sharedSettings';
import { z } from 'zod';

export const configSchema = z.object({
  ...commonConfig,
  /** Postgres database of usage, credits and the embedded event log, with the role that owns it. */
  DATABASE_URL: z.url(),
  /** Auth's internal listener. */
  AUTH_INTERNAL_URL: z.url(),
  /** Addresses of Kafka, comma separated. Without them the event log is the embedded one, kept in this service's database. */
  KAFKA_BROKERS: kafkaBrokersSchema,
  /** Longest wait on Postgres for one usage look-up; past it the caller gets 504. */
  USAGE_QUERY_TIMEOUT_MS: z.coerce.number().int().positive().default(5_000),
  /** The path segment of the look-ups: `/v1/svc/usage/…`. */
  SERVICE_SEGMENT: serviceSegmentSchema,
});

export type Config = z.infer<typeof configSchema>;
