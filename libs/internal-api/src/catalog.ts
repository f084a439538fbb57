import { z } from 'zod';
import { type CatalogSnapshot, catalogSnapshotSchema } from './catalogSnapshot.ts';
import { anyId, LARGE_ANSWER_BYTES } from './fields.ts';
import { defineApi } from './internalApi.ts';

const LARGEST_VERSION = 2 ** 31 - 1;

const switched = {
  callers: ['operator'],
  method: 'POST',
  params: z.object({ model_id: anyId }),
  answer: z.object({ model: z.string(), version: z.number() }),
  faults: {
    model_not_found: { status: 404, message: 'There is no such model.' },
    model_retired: { status: 409, message: 'This model is retired, so there is nothing to switch.' },
    model_disabled_in_file: {
      status: 409,
      message: 'The switch is on again, but the catalog file disables this model too: change its state there.',
    },
  },
} as const;

/** A version of the catalog, with what it changed of the one before. */
const versionSchema = z
  .object({
    version: z.number(),
    applied_at: z.string(),
    models: z.number(),
    /** The first 100 of them. A model that came or went is one change. */
    changes: z.array(
      z.object({
        model: z.string(),
        kind: z.enum(['added', 'removed', 'changed']),
        field: z.string().optional(),
        from: z.string().optional(),
        to: z.string().optional(),
      }),
    ),
    change_count: z.number(),
  })
  .meta({ id: 'CatalogVersion' });
export type CatalogVersionBody = z.input<typeof versionSchema>;

/** The catalog: models and their prices. */
export const catalogApi = defineApi('catalog', {
  getCatalog: {
    callers: ['model-router', 'media-jobs', 'operator'],
    method: 'GET',
    path: '/internal/catalog',
    promise: 'the snapshot in force; `If-None-Match: "<version>"` gets 304',
    answer: catalogSnapshotSchema,
    answerLimitBytes: LARGE_ANSWER_BYTES,
    etag: ({ version }: CatalogSnapshot) => `"${version}"`,
  },
  listCatalogVersions: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/catalog/versions',
    promise: '20 a page, the newest first, each with what it changed',
    params: z.object({ before: z.coerce.number<number>().int().min(1).max(LARGEST_VERSION).default(LARGEST_VERSION) }),
    answer: z.object({ versions: z.array(versionSchema), next_before: z.number().nullable() }),
  },
  getCatalogVersion: {
    callers: ['usage-ledger'],
    method: 'GET',
    path: '/internal/catalog/versions/:version',
    promise: 'the snapshot as it was in force, to price a call again by the version that it names',
    params: z.object({ version: z.coerce.number<number>().int().min(1).max(LARGEST_VERSION) }),
    answer: catalogSnapshotSchema,
    answerLimitBytes: LARGE_ANSWER_BYTES,
    faults: {
      version_not_found: { status: 404, message: 'No catalog of this version was ever in force here.' },
    },
  },
  disableModel: {
    ...switched,
    path: '/internal/models/:model_id/disable',
    promise: 'an administrator’s switch, kept whatever the catalog file says; the answer’s version has it',
  },
  enableModel: {
    ...switched,
    path: '/internal/models/:model_id/enable',
    promise: 'turns the switch back; the answer’s version has it',
  },
});
