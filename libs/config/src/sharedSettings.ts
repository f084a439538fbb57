import { z } from 'zod';

/** The service's own name segment in `/v1/svc/…`: one setting renames it, on every service that has it. */
export const serviceSegmentSchema = z
  .string()
  .regex(/^[a-z0-9-]{1,32}$/, 'must be lower-case letters, digits and dashes')
  .default('svc');

/**
 * The page where people manage their API keys, named in answers to callers without a valid one: one setting, on every
 * service that serves the public. The default is a dashboard on the same laptop.
 */
export const keysPageUrlSchema = z
  .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
  .default('http://localhost:3000/keys');

/** Kafka's brokers, comma separated; not set where the event log is the embedded one. */
export const kafkaBrokersSchema = z
  .string()
  .min(1, 'must name a broker, or not be set at all')
  .transform((list) => list.split(','))
  .optional();
