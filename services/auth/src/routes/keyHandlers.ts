import { toChangeLog, toRequestLog } from '@turnpike/http-service/toRequestLog';
import type { authApi } from '@turnpike/internal-api/auth';
import type { KeyRecord, KeyRecordBody } from '@turnpike/internal-api/keyRecord';
import type { Handlers } from '@turnpike/internal-api/transport/serveApi';
import type { Response } from 'express';
import { changeKeyStatus, type StatusChange } from '../keys/changeKeyStatus.ts';
import { findKey } from '../keys/findKey.ts';
import { getKeyDetails, type KeyDetails, listKeyDetails } from '../keys/keyDetails.ts';
import type { KeyGeneration } from '../keys/keyGeneration.ts';
import { registerKey } from '../keys/registerKey.ts';
import { endOldSecret, rotateKey } from '../keys/rotateKey.ts';
import { toKeyDetailsBody } from '../wire/keyDetailsBody.ts';
import { PAGE_SIZE, toNextAfter } from '../wire/page.ts';
import { getWorkspace } from '../workspaces/readWorkspaces.ts';
import type { HandlerDependencies } from './handlerDependencies.ts';

type KeyHandlers = Pick<
  Handlers<typeof authApi>,
  | 'verifyKey'
  | 'listKeys'
  | 'findKeys'
  | 'getKey'
  | 'createKey'
  | 'rotateKey'
  | 'endOldSecret'
  | 'revokeKey'
  | 'blockKey'
  | 'unblockKey'
>;

/** Answers what the fleet asks about keys, and does what the operator wants of them. */
export function createKeyHandlers(dependencies: HandlerDependencies): KeyHandlers {
  const { log, db, verdictDb, peppers, router, changing } = dependencies;
  const tell = (generation: KeyGeneration, res: Response) =>
    router.announceGenerations([generation], toRequestLog(log, res));
  /** Repeating a change announces the key to the router again. */
  const changeStatus = (change: StatusChange) =>
    changing(async ({ params: { key_id: keyId } }: { params: { key_id: string } }, res) => {
      const generation = await changeKeyStatus(db, { keyId, change });
      const { workspaceId, status } = generation;
      toChangeLog(log, res).info({ keyId, workspaceId, status }, 'key status set');
      await tell(generation, res);
      return { key_id: keyId, status };
    });
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
    createKey: changing(async ({ body }, res) => {
      const newKey = {
        keySha256: body.key_sha256,
        lastFour: body.last_four,
        name: body.name,
        workspaceId: body.workspace_id,
        rpm: body.rpm,
        tpm: body.tpm,
        maxBudgetNanoUsd: body.max_budget_nano_usd,
        expiresAt: body.expires_at === null ? null : new Date(body.expires_at),
      };
      const { keyId } = await registerKey(db, newKey, { peppers });
      toChangeLog(log, res).info({ keyId, workspaceId: newKey.workspaceId }, 'key created');
      return { key_id: keyId };
    }),
    // Not to be repeated, as its secret would not be the one that works: where the router was not told, the answer says so.
    rotateKey: changing(async ({ params: { key_id: keyId }, body }, res) => {
      const now = new Date();
      const rotation = {
        keyId,
        keySha256: body.key_sha256,
        lastFour: body.last_four,
        oldEndsAt: new Date(now.getTime() + body.grace_seconds * 1_000),
      };
      const { key, generation } = await rotateKey(db, rotation, { peppers, now });
      const { workspaceId, oldEndsAt } = key;
      toChangeLog(log, res).info({ keyId, workspaceId, oldEndsAt }, 'key rotated');
      const isGateTold = await tell(generation, res).then(
        () => true,
        () => false,
      );
      return {
        new_key: toKeyDetailsBody(key),
        old_key: toKeyDetailsBody({ ...key, lastFour: key.oldLastFour, expiresAt: oldEndsAt }),
        gate_told: isGateTold,
      };
    }),
    endOldSecret: changing(async ({ params: { key_id: keyId } }, res) => {
      const { key, generation } = await endOldSecret(db, { keyId, now: new Date() });
      toChangeLog(log, res).info({ keyId, workspaceId: key.workspaceId }, 'old secret ended');
      await tell(generation, res);
      return toKeyDetailsBody(key);
    }),
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
    workspace: { ...key.workspace, monthlyCapNanoUsd: key.workspace.monthlyCapNanoUsd?.toString() ?? null },
  };
}
