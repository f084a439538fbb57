import { z } from 'zod';

/** The service's own name segment in `/v1/svc/…`: one setting renames it, on every service that has it. */
export const serviceSegmentSchema = z
  .string()
  .regex(/^[a-z0-9-]{1,32}$/, 'must be lower-case letters, digits and dashes')
  .default('svc');

/** Kafka's brokers, comma separated; not set where the event log is the embedded one. */
export const kafkaBrokersSchema = z
  .string()
  .min(1, 'must name a broker, or not be set at all')
  .transform((list) => list.split(','))
  .optional();
