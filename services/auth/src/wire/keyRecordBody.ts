import type { KeyRecord, KeyRecordBody } from '@turnpike/internal-api/keyRecord';

/** A key's record as other services read it: amounts as decimal strings. */
export function toKeyRecordBody(key: KeyRecord): KeyRecordBody {
  return {
    ...key,
    maxBudgetNanoUsd: key.maxBudgetNanoUsd?.toString() ?? null,
    workspace: { ...key.workspace, monthlyCapNanoUsd: key.workspace.monthlyCapNanoUsd?.toString() ?? null },
  };
}
