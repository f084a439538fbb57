import { regionSchema } from '@turnpike/config/region';
import { nanoUsdSchema } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import { budgetPeriodSchema } from './budgetPeriod.ts';
import { afterId, anyId, capNanoUsd, modelId, nextAfter, organizationId, text, workspaceId } from './fields.ts';
import { defineApi } from './internalApi.ts';
import { keyRecordSchema } from './keyRecord.ts';
import { LISTED_YEARS, ROTATION_FAULTS } from './keyTerms.ts';

/** SHA-256 of a key, which travels in the key's stead. */
const keySha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex');
const lastFour = z.string().regex(/^[0-9A-Za-z]{4}$/, 'must be the last four characters of the key');
/** A name for people. */
const displayName = text.min(1).max(200);
const perMinute = z.number().int().min(1).max(1_000_000_000);
/** An upper limit that may be absent, which means the same as null. */
const limitNanoUsd = capNanoUsd.default(null);
const billingStatus = z.enum(['active', 'on_hold', 'not_provisioned']);
/** The fields of a workspace, beside its id and the region of the stack. */
const workspaceFields = {
  organization_id: organizationId,
  name: displayName,
  billing_status: billingStatus,
  monthly_cap_nano_usd: limitNanoUsd,
};
/** The most that a key may spend in each period. Null is no limit. */
const periodBudget = z
  .strictObject({ period: budgetPeriodSchema, max_nano_usd: capNanoUsd.unwrap() })
  .nullable()
  .default(null);
/** Models that a key may call, by id, whether the catalog has them or not. Null is no limit. */
const allowedModels = z.array(modelId).min(1).max(100).nullable().default(null);
const changeId = z.string().regex(/^\d{1,18}$/, 'must be the id of a change');
const expiresAt = z.iso
  .datetime({ offset: true })
  .refine(...LISTED_YEARS)
  .nullable();
const LONGEST_GRACE_SECONDS = 90 * 24 * 60 * 60;

/** A workspace as the operator reads it. */
export const workspaceSchema = z
  .object({
    workspace_id: z.string(),
    organization_id: z.string(),
    name: z.string(),
    region: regionSchema,
    billing_status: billingStatus,
    monthly_cap_nano_usd: nanoUsdSchema.nullable(),
    /** The account layer's side, beside the operator's above. The stricter counts. Null: the account layer does not know the workspace. */
    account_status: billingStatus.nullable().default(null),
    account_cap_nano_usd: nanoUsdSchema.nullable().default(null),
    /** Rises with every change. */
    version: z.number().int(),
  })
  .meta({ id: 'Workspace' });
export type WorkspaceBody = z.input<typeof workspaceSchema>;

/** A key as the operator reads it. Nothing in it lets anyone use the key. */
export const keyDetailsSchema = z
  .object({
    key_id: z.string(),
    workspace_id: z.string(),
    last_four: z.string(),
    name: z.string(),
    status: z.enum(['active', 'blocked', 'revoked']),
    /** The side that blocked a blocked key. A console does not undo the operator's block. */
    blocked_by: z.enum(['operator', 'console']).nullable().default(null),
    rpm: z.number(),
    tpm: z.number(),
    max_budget_nano_usd: nanoUsdSchema.nullable(),
    /** The most that it may spend in each period, beside the budget in all. Null is no limit. */
    period_budget: z.object({ period: budgetPeriodSchema, max_nano_usd: nanoUsdSchema }).nullable().default(null),
    /** Ids of the models that it may call. Null is no limit. */
    allowed_models: z.array(z.string()).nullable().default(null),
    expires_at: z.string().nullable(),
    created_at: z.string(),
    /** The secret before its last rotation, if it was ever rotated. */
    old_secret: z.object({ last_four: z.string(), ends_at: z.string() }).nullable().default(null),
  })
  .meta({ id: 'Key' });
export type KeyDetailsBody = z.input<typeof keyDetailsSchema>;

const UNKNOWN_KEY = { unknown_key: { status: 404, message: 'There is no such key.' } };
const KEY_REVOKED = { key_revoked: { status: 409, message: 'This key is revoked, which is final.' } };
/** Under any pepper. */
const KEY_KNOWN = { key_already_registered: { status: 409, message: 'This key is registered already.' } };
const NO_WORKSPACE = { workspace_not_found: { status: 404, message: 'There is no such workspace.' } };
const WORKSPACE_CONFLICT = {
  workspace_conflict: {
    status: 409,
    message: 'An organization has one workspace per region, and a workspace stays with its organization.',
  },
};
const NOT_PROVISIONED = {
  workspace_not_provisioned: {
    status: 409,
    message: 'This workspace is not set up for billing, so it is neither put on hold nor released.',
  },
};
const NAMED_BY_ACCOUNT = {
  workspace_named_by_account: {
    status: 409,
    message: 'The account layer names this workspace: an owner or admin renames it in the dashboard.',
  },
};
const NOT_TOLD = {
  gate_not_told: {
    status: 503,
    message:
      'The change is made, but the gate was not told: it may go by what was before for 30 s. Repeat the change to tell it.',
    retryAfterSeconds: 1,
  },
};

/** A change of a key by a member at the console. The operator's changes are in auth's log alone. */
const keyChangeSchema = z
  .object({
    change_id: z.string(),
    at: z.string(),
    key_id: z.string(),
    user_id: z.string(),
    role: z.string(),
    action: z.string(),
    /** The changed fields. Null before a key was created. */
    before: z.unknown(),
    after: z.unknown(),
  })
  .meta({ id: 'KeyChange' });

const ofKey = z.object({ key_id: anyId });
const ofWorkspace = z.object({ workspace_id: anyId });
const keyStatus = z.object({ key_id: z.string(), status: keyDetailsSchema.shape.status });
const toldOrRepeat = 'repeated, it is told to the router again';

/** Keys and workspaces: the callers of the API. */
export const authApi = defineApi('auth', {
  verifyKey: {
    callers: ['catalog', 'edge', 'model-router', 'usage-ledger', 'media-jobs', 'operator'],
    method: 'POST',
    path: '/internal/keys/verify',
    promise:
      'who a key is, by one of its secrets: `lastFour` and `expiresAt` are of that one; null alike for unknown, revoked and expired ones',
    body: z.object({ key_sha256: keySha256 }),
    bodyLimitBytes: 1_024,
    answer: z.object({ key: keyRecordSchema.nullable() }),
    answerLimitBytes: 16 * 1024,
  },
  putWorkspace: {
    callers: ['operator'],
    method: 'PUT',
    path: '/internal/workspaces/:workspace_id',
    promise: `creates a workspace in the stack’s region, or brings it up to date; ${toldOrRepeat}`,
    params: z.object({ workspace_id: workspaceId }),
    body: z.strictObject(workspaceFields),
    answer: workspaceSchema,
    faults: { ...WORKSPACE_CONFLICT, ...NOT_TOLD },
  },
  createWorkspace: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/workspaces',
    promise: 'changes none that is there: it would be taken off its hold and its cap',
    body: z.strictObject({ workspace_id: workspaceId, ...workspaceFields }),
    answer: workspaceSchema,
    faults: {
      ...WORKSPACE_CONFLICT,
      workspace_exists: { status: 409, message: 'There is a workspace of this id already.' },
    },
  },
  listWorkspaces: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/workspaces',
    promise: '500 a page, by their ids',
    params: z.object({ after: afterId }),
    answer: z.object({ workspaces: z.array(workspaceSchema), next_after: nextAfter }),
  },
  getWorkspace: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/workspaces/:workspace_id',
    promise: '',
    params: ofWorkspace,
    answer: workspaceSchema,
    faults: NO_WORKSPACE,
  },
  capWorkspace: {
    callers: ['operator'],
    method: 'PUT',
    path: '/internal/workspaces/:workspace_id/cap',
    promise: `what a workspace may spend a month, null for no cap; ${toldOrRepeat}`,
    params: ofWorkspace,
    body: z.strictObject({ monthly_cap_nano_usd: capNanoUsd }),
    answer: workspaceSchema,
    faults: { ...NO_WORKSPACE, ...NOT_TOLD },
  },
  renameWorkspace: {
    callers: ['operator'],
    method: 'PUT',
    path: '/internal/workspaces/:workspace_id/name',
    promise: `names a workspace that the account layer does not know; ${toldOrRepeat}`,
    params: ofWorkspace,
    body: z.strictObject({ name: displayName }),
    answer: workspaceSchema,
    faults: { ...NO_WORKSPACE, ...NAMED_BY_ACCOUNT, ...NOT_TOLD },
  },
  holdWorkspace: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/workspaces/:workspace_id/hold',
    promise: `refuses every call of a workspace; ${toldOrRepeat}`,
    params: ofWorkspace,
    answer: workspaceSchema,
    faults: { ...NO_WORKSPACE, ...NOT_PROVISIONED, ...NOT_TOLD },
  },
  releaseWorkspace: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/workspaces/:workspace_id/release',
    promise: `ends a hold; ${toldOrRepeat}`,
    params: ofWorkspace,
    answer: workspaceSchema,
    faults: { ...NO_WORKSPACE, ...NOT_PROVISIONED, ...NOT_TOLD },
  },
  listKeys: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/workspaces/:workspace_id/keys',
    promise: '500 a page, by their ids; revoked and expired ones too',
    params: ofWorkspace.extend({ after: afterId }),
    answer: z.object({ keys: z.array(keyDetailsSchema), next_after: nextAfter }),
    faults: NO_WORKSPACE,
  },
  findKeys: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/keys',
    promise:
      'the keys of the region of which a secret ends in these characters, revoked and expired ones too, 500 a page, by their ids',
    params: z.object({ last_four: lastFour, after: afterId }),
    answer: z.object({ keys: z.array(keyDetailsSchema), next_after: nextAfter }),
  },
  createKey: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/keys',
    promise: 'registers a key made elsewhere, by its hash',
    body: z.strictObject({
      key_sha256: keySha256,
      last_four: lastFour,
      name: displayName,
      workspace_id: workspaceId,
      rpm: perMinute.default(600),
      tpm: perMinute.default(1_000_000),
      max_budget_nano_usd: limitNanoUsd,
      period_budget: periodBudget,
      allowed_models: allowedModels,
      expires_at: expiresAt.default(null),
    }),
    answer: z.object({ key_id: z.string() }),
    faults: { ...KEY_KNOWN, ...NO_WORKSPACE },
  },
  getKey: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/keys/:key_id',
    promise: 'whatever has become of it; never the key itself',
    params: ofKey,
    answer: keyDetailsSchema,
    faults: UNKNOWN_KEY,
  },
  listKeyChanges: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/keys/:key_id/changes',
    promise: 'what members changed of a key, the newest first, 100 a page',
    params: ofKey.extend({ before: changeId.optional() }),
    answer: z.object({ changes: z.array(keyChangeSchema), next_before: z.string().nullable() }),
    faults: UNKNOWN_KEY,
  },
  updateKey: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/keys/:key_id/update',
    promise: `null removes a limit; ${toldOrRepeat}`,
    params: ofKey,
    body: z.strictObject({
      name: displayName.optional(),
      rpm: perMinute.optional(),
      tpm: perMinute.optional(),
      max_budget_nano_usd: capNanoUsd.optional(),
      period_budget: periodBudget.unwrap().optional(),
      allowed_models: allowedModels.unwrap().optional(),
      expires_at: expiresAt.optional(),
    }),
    answer: keyDetailsSchema,
    faults: { ...UNKNOWN_KEY, ...KEY_REVOKED, ...NOT_TOLD },
  },
  rotateKey: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/keys/:key_id/rotate',
    promise:
      'a new secret for a key, whose old one ends after the grace; the answer shows the key as by each of them. Not to be repeated, so where the router was not told of that end, the answer says it: `gate_told` is false, and it may take the old secret for 30 s longer',
    params: ofKey,
    body: z.strictObject({
      key_sha256: keySha256,
      last_four: lastFour,
      /** How long the old secret goes on working beside the new one. */
      grace_seconds: z.number().int().min(0).max(LONGEST_GRACE_SECONDS),
    }),
    answer: z.object({ new_key: keyDetailsSchema, old_key: keyDetailsSchema, gate_told: z.boolean().default(true) }),
    faults: {
      ...UNKNOWN_KEY,
      ...KEY_KNOWN,
      ...ROTATION_FAULTS,
      /** Answered by an earlier version, which replaced a rotated key by a second one. */
      key_rotated: {
        status: 409,
        message: 'This key was rotated before: {replacedBy} is in its place. Rotate that one.',
      },
    },
  },
  endOldSecret: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/keys/:key_id/end-old-secret',
    promise: `ends the secret before the last rotation, and nothing else of the key; ${toldOrRepeat}`,
    params: ofKey,
    answer: keyDetailsSchema,
    faults: {
      ...UNKNOWN_KEY,
      no_old_secret: { status: 409, message: 'This key was never rotated: it has one secret.' },
      ...NOT_TOLD,
    },
  },
  revokeKey: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/keys/:key_id/revoke',
    promise: `ends a key for good, with both of its secrets; ${toldOrRepeat}`,
    params: ofKey,
    answer: keyStatus,
    faults: { ...UNKNOWN_KEY, ...NOT_TOLD },
  },
  blockKey: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/keys/:key_id/block',
    promise: `keeps a key out; ${toldOrRepeat}`,
    params: ofKey,
    answer: keyStatus,
    faults: { ...UNKNOWN_KEY, ...KEY_REVOKED, ...NOT_TOLD },
  },
  unblockKey: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/keys/:key_id/unblock',
    promise: `lets a blocked key in again; ${toldOrRepeat}`,
    params: ofKey,
    answer: keyStatus,
    faults: { ...UNKNOWN_KEY, ...KEY_REVOKED, ...NOT_TOLD },
  },
});
