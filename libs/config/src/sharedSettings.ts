import { z } from 'zod';

/** The service's own name segment in `/v1/svc/…`: one setting renames it, on every service that has it. */
export const serviceSegmentSchema = z
  .string()
  .regex(/^[a-z0-9-]{1,32}$/, 'must be lower-case letters, digits and dashes')
  .default('svc');

/** Base address of something that is asked over HTTP. */
export const serviceUrlSchema = z.url({ protocol: /^https?$/, error: 'must be an http(s) address' });

/** An origin as browsers know it: of the account layer's pages, or of a console host. Plain http on `localhost` alone. */
export const browserOriginSchema = z
  .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
  .refine((url) => new URL(url).origin === url, 'must have neither path nor slash at its end')
  .refine(
    (url) => url.startsWith('https:') || new URL(url).hostname === 'localhost',
    'must be https, except on localhost, because it carries a session or a token',
  );

/** A Postgres database, with the role that a process works with. */
export const databaseUrlSchema = z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgresql:// address' });

/** The Redis of a region: one address, or those of some nodes of a Redis Cluster, comma separated. */
export const redisUrlSchema = z
  .string()
  // A password may have a comma, too.
  .transform((urls) => urls.split(/,(?=rediss?:)/))
  .pipe(z.array(z.url({ protocol: /^rediss?$/, error: 'must be redis:// or rediss:// addresses' })));

/** Size of a full spool, on every service that settles calls. */
export const spoolMaxBytesSchema = z
  .number()
  .int()
  .min(16_777_216, 'must be at least 16777216: the spool is kept in files of 4 MiB')
  .default(67_108_864);

/**
 * The page where users manage their API keys. Answers to callers without a valid key, or at a limit of the key, name
 * it. One setting, on every service that serves the public. Not set: answers name no page.
 */
export const keysPageUrlSchema = z.url({ protocol: /^https?$/, error: 'must be an http(s) address' }).optional();

/**
 * Read requests of one key a second in one process, in bursts of twice as many. One setting, on every service that
 * answers read requests.
 */
export const lookUpsPerSecondSchema = z.number().int().positive().default(50);

/**
 * Number of places in which a store has to have the data that it acknowledges: `one` or `several`. One setting, on
 * every service that deletes its own copy once a store has the data.
 */
export const storeCopiesSchema = z.enum(['one', 'several']).default('several');

const milliseconds = z.number().int().positive();

/**
 * How long a call may take, ms, of a stream without its tokens. One setting each, on the router, which enforces it, and
 * on the edge, which waits for that long.
 */
export const imagesTimeoutMsSchema = milliseconds.default(10_000);
export const wholeTimeoutMsSchema = milliseconds.default(300_000);
export const streamTimeoutMsSchema = milliseconds.default(600_000);

/** Kafka's brokers, comma separated; not set where the event log is the embedded one. */
export const kafkaBrokersSchema = z
  .string()
  .regex(/^[^\s,:]+:\d{1,5}(,[^\s,:]+:\d{1,5})*$/, 'must be host:port pairs, comma separated, without spaces')
  .transform((list) => list.split(','))
  .optional();

/** A setting that is JSON; piped into the schema of its value. */
export const jsonSchema = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue('must be JSON');
    return z.NEVER;
  }
});
