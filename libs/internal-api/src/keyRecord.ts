import { regionSchema } from '@turnpike/config/region';
import { nonNegativeNanoUsdSchema } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import { budgetPeriodSchema } from './budgetPeriod.ts';

/** The record of a key, as `auth` gives it to every service that serves the public. */
export const keyRecordSchema = z
  .object({
    keyId: z.string(),
    lastFour: z.string().length(4),
    /** Rises with every change of the key or its workspace; the admit script compares it with the one in Redis. */
    generation: z.number().int().min(0),
    isBlocked: z.boolean(),
    expiresAt: z.iso.datetime().nullable(),
    /** Time until `expiresAt` by auth's database, because clocks of processes differ. Absent if the key never expires. */
    expiresInMs: z.number().optional(),
    /** Configured limits: requests and tokens per minute. */
    rpm: z.number().int().min(1),
    tpm: z.number().int().min(1),
    maxBudgetNanoUsd: nonNegativeNanoUsdSchema.nullable(),
    /** Spend of a day, week or month, beside the budget in all. Null is no limit, and what a release without the field means. */
    periodBudget: z
      .object({ period: budgetPeriodSchema, maxNanoUsd: nonNegativeNanoUsdSchema })
      .nullable()
      .default(null),
    /** Ids of the models that the key may call. Null is no limit, and what a release without the field means. */
    allowedModels: z.array(z.string()).nullable().default(null),
    workspace: z.object({
      workspaceId: z.string(),
      region: regionSchema,
      billingStatus: z.enum(['active', 'on_hold', 'not_provisioned']),
      monthlyCapNanoUsd: nonNegativeNanoUsdSchema.nullable(),
    }),
  })
  .meta({ id: 'KeyRecord' });

export type KeyRecord = z.output<typeof keyRecordSchema>;
export type KeyRecordBody = z.input<typeof keyRecordSchema>;

type Fields = Partial<Omit<KeyRecordBody, 'workspace'>> & { workspace?: Partial<KeyRecordBody['workspace']> };

/** Builds auth's answer for a valid key, for tests, which override the fields that they check. */
export const aKeyRecordBody = ({ workspace, ...fields }: Fields = {}): KeyRecordBody => ({
  keyId: 'key_1',
  lastFour: 'abcd',
  generation: 1,
  isBlocked: false,
  expiresAt: null,
  rpm: 600,
  tpm: 1_000_000,
  maxBudgetNanoUsd: null,
  workspace: { workspaceId: 'ws_1', region: 'us', billingStatus: 'active', monthlyCapNanoUsd: null, ...workspace },
  ...fields,
});
