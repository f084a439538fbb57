import type { authApi } from '@turnpike/internal-api/auth';
import type { KeyRecord, KeyRecordBody } from '@turnpike/internal-api/keyRecord';
import type { Handlers } from '@turnpike/internal-api/transport/serveApi';
import type { Response } from 'express';
import type { StatusChange } from '../keys/changeKeyStatus.ts';
import { findKey } from '../keys/findKey.ts';
import { listKeyChanges } from '../keys/keyAudit.ts';
import { getKeyDetails, type KeyDetails, listKeyDetails } from '../keys/keyDetails.ts';
import { toKeyChangeBody, toKeyDetailsBody } from '../wire/keyDetailsBody.ts';
import { toKeyUpdate } from '../wire/keyUpdate.ts';
import { PAGE_SIZE, toNextAfter } from '../wire/page.ts';
import { getWorkspace } from '../workspaces/readWorkspaces.ts';
import type { HandlerDependencies } from './handlerDependencies.ts';
import { createKeyChanges } from './keyChanges.ts';

type KeyHandlers = Pick<
  Handlers<typeof authApi>,
  | 'verifyKey'
  | 'listKeys'
  | 'findKeys'
  | 'getKey'
  | 'listKeyChanges'
  | 'createKey'
  | 'updateKey'
  | 'rotateKey'
  | 'endOldSecret'
  | 'revokeKey'
  | 'blockKey'
  | 'unblockKey'
>;

/** Answers what the fleet asks about keys, and does what the operator wants of them. */
export function createKeyHandlers(dependencies: HandlerDependencies): KeyHandlers {
  const { db, verdictDb, peppers } = dependencies;
  const changes = createKeyChanges(dependencies);
  const changeStatus =
    (change: StatusChange) =>
    ({ params: { key_id: keyId } }: { params: { key_id: string } }, res: Response) =>
      changes.changeStatus({ keyId, by: 'operator', change }, res);
  return {
    async verifyKey({ body }) {
      const key = await findKey(verdictDb, { keySha256: body.key_sha256, peppers });
      return { key: key ? toKeyRecordBody(key) : null };
    },
    async listKeys({ params: { workspace_id: id, after } }) {
      const { workspaceId } = await getWorkspace(db, id);
      return toPage(await listKeyDetails(db, { workspaceId }, { after, limit: PAGE_SIZE }));
    },
    findKeys: async ({ params: { last_four: lastFour, after } }) =>
      toPage(await listKeyDetails(db, { lastFour }, { after, limit: PAGE_SIZE })),
    getKey: async ({ params: { key_id: keyId } }) => toKeyDetailsBody(await getKeyDetails(db, keyId)),
    async listKeyChanges({ params: { key_id: id, before } }) {
      const { keyId, workspaceId } = await getKeyDetails(db, id);
      const page = await listKeyChanges(db, { workspaceId, keyId, before });
      return { changes: page.changes.map(toKeyChangeBody), next_before: page.next };
    },
    createKey: ({ body }, res) => changes.createKey({ by: 'operator', body }, res),
    updateKey: async ({ params: { key_id: keyId }, body }, res) =>
      toKeyDetailsBody(await changes.updateKey({ keyId, by: 'operator', update: toKeyUpdate(body) }, res)),
    async rotateKey({ params: { key_id: keyId }, body }, res) {
      const { key, isGateTold } = await changes.rotateKey({ keyId, by: 'operator', body }, res);
      return {
        new_key: toKeyDetailsBody(key),
        old_key: toKeyDetailsBody({ ...key, lastFour: key.oldLastFour, expiresAt: key.oldEndsAt }),
        gate_told: isGateTold,
      };
    },
    endOldSecret: async ({ params: { key_id: keyId } }, res) =>
      toKeyDetailsBody(await changes.endOldSecret({ keyId, by: 'operator' }, res)),
    revokeKey: changeStatus('revoke'),
    blockKey: changeStatus('block'),
    unblockKey: changeStatus('unblock'),
  };
}

export const toPage = (keys: KeyDetails[]) => ({
  keys: keys.map(toKeyDetailsBody),
  next_after: toNextAfter(keys.map(({ keyId }) => keyId)),
});

/** A key's record as other services read it: amounts as decimal strings. */
function toKeyRecordBody(key: KeyRecord): KeyRecordBody {
  return {
    ...key,
    maxBudgetNanoUsd: key.maxBudgetNanoUsd?.toString() ?? null,
    periodBudget: key.periodBudget && { ...key.periodBudget, maxNanoUsd: key.periodBudget.maxNanoUsd.toString() },
    workspace: { ...key.workspace, monthlyCapNanoUsd: key.workspace.monthlyCapNanoUsd?.toString() ?? null },
  };
}
