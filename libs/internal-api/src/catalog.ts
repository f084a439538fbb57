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
