import { toChangeLog, toRequestLog } from '@turnpike/http-service/createHttpApp';
import type { authApi } from '@turnpike/internal-api/auth';
import type { Asked } from '@turnpike/internal-api/transport/serveApi';
import type { Response } from 'express';
import { changeKeyStatus, type StatusChange } from '../keys/changeKeyStatus.ts';
import { readNow } from '../keys/findKey.ts';
import type { Changer } from '../keys/keyAudit.ts';
import type { KeyGeneration } from '../keys/keyGeneration.ts';
import { registerKey } from '../keys/registerKey.ts';
import { endOldSecret, rotateKey } from '../keys/rotateKey.ts';
import { type KeyUpdate, updateKey } from '../keys/updateKey.ts';
import type { HandlerDependencies } from './handlerDependencies.ts';

type BodyOf<Name extends keyof (typeof authApi)['routes']> = Asked<(typeof authApi)['routes'][Name]>['body'];

/** Makes the changes of keys that the operator and the console share. Repeating a change announces the key to the router again. */
export function createKeyChanges({ log, db, peppers, router, changing }: HandlerDependencies) {
  const tell = (generation: KeyGeneration, res: Response) =>
    router.announceGenerations([generation], toRequestLog(log, res));
  return {
    createKey: changing(async ({ by, body }: { by: Changer; body: BodyOf<'createKey'> }, res) => {
      const newKey = {
        by,
        keySha256: body.key_sha256,
        lastFour: body.last_four,
        name: body.name,
        workspaceId: body.workspace_id,
        rpm: body.rpm,
        tpm: body.tpm,
        maxBudgetNanoUsd: body.max_budget_nano_usd,
        budgetPeriod: body.period_budget?.period ?? null,
        periodBudgetNanoUsd: body.period_budget?.max_nano_usd ?? null,
        allowedModels: body.allowed_models ?? [],
        expiresAt: body.expires_at === null ? null : new Date(body.expires_at),
      };
      const { keyId } = await registerKey(db, newKey, { peppers });
      toChangeLog(log, res).info({ keyId, workspaceId: newKey.workspaceId }, 'key created');
      return { key_id: keyId };
    }),
    updateKey: changing(async (asked: { keyId: string; by: Changer; update: KeyUpdate }, res) => {
      const { key, generation } = await updateKey(db, asked);
      const { keyId, workspaceId } = key;
      toChangeLog(log, res).info({ keyId, workspaceId, fields: Object.keys(asked.update) }, 'key updated');
      await tell(generation, res);
      return key;
    }),
    changeStatus: changing(async (asked: { keyId: string; by: Changer; change: StatusChange }, res) => {
      const { keyId } = asked;
      const generation = await changeKeyStatus(db, asked);
      const { workspaceId, status } = generation;
      toChangeLog(log, res).info({ keyId, workspaceId, status }, 'key status set');
      await tell(generation, res);
      return { key_id: keyId, status };
    }),
    endOldSecret: changing(async ({ keyId, by }: { keyId: string; by: Changer }, res) => {
      const { key, generation } = await endOldSecret(db, { keyId, by, now: await readNow(db) });
      toChangeLog(log, res).info({ keyId, workspaceId: key.workspaceId }, 'old secret ended');
      await tell(generation, res);
      return key;
    }),
    // A rotation is not repeated, as the first new secret would then be the old one. So the answer says whether the router was told.
    rotateKey: changing(async ({ keyId, by, body }: { keyId: string; by: Changer; body: BodyOf<'rotateKey'> }, res) => {
      const now = await readNow(db);
      const rotation = {
        keyId,
        by,
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
      return { key, isGateTold };
    }),
  };
}
