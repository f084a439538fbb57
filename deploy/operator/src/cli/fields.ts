import { budgetPeriodSchema } from '@turnpike/internal-api/budgetPeriod';
import { LARGEST_LIMIT_NANO_USD, type NanoUsd, parseUsd, toUsdText } from '@turnpike/money/nanoUsd';
import { z } from 'zod';

// Schemas of operands and options. Each names one thing by its exact id: no pattern stands for several.

/** An operand, by its name in the help. */
export const operand = <Schema extends z.ZodType>(name: string, schema: Schema): Schema => schema.meta({ name });
/** An option with a value, by the value's name in the help. */
export const option = <Schema extends z.ZodType>(name: string, help: string, schema: Schema): Schema =>
  schema.meta({ name, help });
/** An option that takes no value. */
export const flag = (help: string) => z.boolean().default(false).meta({ help });
/** The option of a command that asks for a confirmation. */
export const YES = flag('do not ask for a confirmation');

/** A text that is not empty. */
export const textOf = (most: number) =>
  z.string().min(1, 'must not be empty').max(most, `must be at most ${most} characters`);

const idOf = (prefix: string, name: string) =>
  operand(
    name,
    z.string().regex(new RegExp(`^${prefix}_[A-Za-z0-9_-]{1,64}$`), `must be an id, as in ${prefix}_1a2b3c`),
  );

export const workspaceId = idOf('ws', 'WS');
export const organizationId = idOf('org', 'ORG');
export const holdId = idOf('hold', 'HOLD');
export const topUpId = idOf('topup', 'TOP_UP');
export const refundId = idOf('refund', 'REFUND');
export const documentName = operand(
  'NUMBER',
  z.string().regex(/^[\w-]{3,128}$/, 'must be the number or the id of an invoice, as in TURN-0001'),
);
export const verificationId = idOf('ver', 'VERIFICATION');
export const userId = idOf('user', 'USER');
export const keyId = idOf('key', 'KEY_ID');
export const modelId = operand('MODEL', z.string().regex(/^[a-z0-9][a-z0-9._-]{0,95}$/, 'must be a model id'));
/** The id of a model, or an alias. */
export const modelName = operand('MODEL', textOf(96));
/** A file of this machine. */
export const fileName = operand('FILE', z.string().min(1, 'must be the name of a file'));
/** Ids of models with commas between them. */
export const modelIds = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(modelId).max(100, 'must be 100 models at most'));
export const deadLetterId = operand('ID', z.string().regex(/^[1-9]\d{0,17}$/, 'must be the number of a dead letter'));
/** Any id that a client was given. */
export const givenId = operand(
  'ID',
  z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be an id, as in x-router-call-id, chatcmpl-… or video_…'),
);
export const engineId = operand('ENGINE', z.string().regex(/^[A-Za-z0-9._:/@-]{1,256}$/, 'must be an engine id'));
/** A life of a region's ledger. */
export const epoch = operand('EPOCH', z.uuid('must be an epoch, as "turnpike totals epochs" shows it'));
/** A name that people give to a thing. */
export const displayName = textOf(200);
export const creditId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be 1 to 128 letters, digits, dashes or underscores');

/** Dollars as people write them, to nano-dollars. */
export const usd = z.string().transform((text, context): NanoUsd => {
  const refuse = (message: string) => {
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  if (/^-[\d.]/.test(text)) return refuse('must not be below zero');
  if (!/^\d+(\.\d{1,9})?$/.test(text))
    return refuse('must be dollars in plain digits with at most 9 decimals, as in 12.5');
  // More digits than `parseUsd` reads are too many in any case.
  if (/^\d{10}/.test(text) || parseUsd(text) > LARGEST_LIMIT_NANO_USD)
    return refuse(`must be at most ${toUsdText(LARGEST_LIMIT_NANO_USD)}`);
  return parseUsd(text);
});

/** `12.5` is 1250 cents. */
export const cents = z
  .string()
  .regex(/^\d{1,7}(\.\d{1,2})?$/, 'must be an amount with at most 2 decimals, as in 12.50')
  .transform((text) => Math.round(Number(text) * 100))
  .refine((amount) => amount > 0, 'must be more than nothing');

/** Dollars of each day, week or month, as in `12.5/day`. */
export const usdOfPeriod = z
  .string()
  .regex(/^[^/]+\/(day|week|month)$/, 'must be dollars of a day, week or month, as in 12.5/day')
  .transform((text) => text.split('/'))
  .pipe(z.tuple([usd, budgetPeriodSchema]))
  .transform(([maxNanoUsd, period]) => ({ period, maxNanoUsd }));

/** One of some words, which the help lists. */
export const oneOf = <Word extends string>(name: string, words: readonly Word[]) =>
  option(name, words.join(', '), z.enum(words, `must be one of ${words.join(', ')}`));
/** Words for people. */
export const note = (help: string, most: number) =>
  option('TEXT', help, z.string().max(most, `must be at most ${most} characters`).default(''));
/** How long a comparison waits, and what may be on its way meanwhile. */
export const seconds = (help: string, most: number) =>
  option('SECONDS', help, z.coerce.number().int().min(0).max(most).optional());
/** The line of an audit to go on before. */
export const auditLine = option(
  'LINE',
  'the 100 before this line',
  z
    .string()
    .regex(/^\d{1,18}$/, 'must be the number of a line')
    .optional(),
);

const MOST_PER_MINUTE = 1_000_000_000;
export const perMinute = z
  .string()
  .regex(/^\d+$/, 'must be a whole number, as in 600')
  .transform(Number)
  .refine((count) => count >= 1 && count <= MOST_PER_MINUTE, `must be from 1 to ${MOST_PER_MINUTE}`);

/** A UTC day as `YYYY-MM-DD`. */
export const day = z.iso.date('must be a day, as in 2026-01-31');

/** A day, meaning its first moment in UTC, or an instant with its offset; to come in any case. */
export const instantToCome = z
  .union(
    [day, z.iso.datetime({ offset: true, precision: -1 }), z.iso.datetime({ offset: true })],
    'must be a day or an instant, as in 2026-01-31 or 2026-01-31T12:00Z',
  )
  .transform((text) => new Date(text))
  .refine((instant) => instant.getTime() > Date.now(), 'lies in the past');

const SECONDS_PER_UNIT: Record<string, number> = { m: 60, h: 3_600, d: 86_400 };

/** `30m`, `24h` or `7d`, to seconds. */
export const durationSeconds = z
  .string()
  .regex(/^\d{1,5}[mhd]$/, 'must be minutes, hours or days, as in 30m, 24h or 7d')
  .transform((text) => Number(text.slice(0, -1)) * (SECONDS_PER_UNIT[text.slice(-1)] ?? 0));
