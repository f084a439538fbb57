import type { NamedSecret } from '@turnpike/config/secrets';
import { createBodyReader } from '@turnpike/http-service/createBodyReader';
import { toChangeLog, toRequestLog } from '@turnpike/http-service/toRequestLog';
import type { Logger } from '@turnpike/logging/createLogger';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Db } from '../database/openDatabases.ts';
import { rotateKey } from '../keys/rotateKey.ts';
import type { RouterClient } from '../router/routerClient.ts';
import { keySha256, lastFour } from '../wire/internalFields.ts';
import { toKeyDetailsBody } from '../wire/keyDetailsBody.ts';

const LONGEST_GRACE_SECONDS = 90 * 24 * 60 * 60;

const bodySchema = z.strictObject({
  key_sha256: keySha256,
  last_four: lastFour,
  /** How long the old key goes on working beside the new one. */
  grace_seconds: z.number().int().min(0).max(LONGEST_GRACE_SECONDS),
});

export interface PostKeyRotationDependencies {
  log: Logger;
  db: Db;
  peppers: NamedSecret[];
  router: Pick<RouterClient, 'announceGenerations'>;
}

/**
 * POST /internal/keys/{key_id}/rotate: registers a key in place of another, which ends after a grace. Not to be repeated, which
 * would make one key more, so where the router was not told of the old key's end, the answer says that beside the keys.
 */
export function postKeyRotation({ log, db, peppers, router }: PostKeyRotationDependencies): RequestHandler {
  const readBody = createBodyReader(bodySchema, { limitBytes: 1_024 });
  return async (req, res) => {
    const body = await readBody(req, res);
    const now = new Date();
    const rotation = {
      keyId: String(req.params.key_id),
      keySha256: body.key_sha256,
      lastFour: body.last_four,
      oldEndsAt: new Date(now.getTime() + body.grace_seconds * 1_000),
    };
    const { newKey, oldKey, generation } = await rotateKey(db, rotation, { peppers, now });
    toChangeLog(log, res).info(
      { keyId: oldKey.keyId, newKeyId: newKey.keyId, workspaceId: newKey.workspaceId, endsAt: oldKey.expiresAt },
      'key rotated',
    );
    const isGateTold = await router.announceGenerations([generation], toRequestLog(log, res)).then(
      () => true,
      () => false,
    );
    res.json({ new_key: toKeyDetailsBody(newKey), old_key: toKeyDetailsBody(oldKey), gate_told: isGateTold });
  };
}
