import { toChangeLog, toRequestLog } from '@turnpike/http-service/toRequestLog';
import type { Logger } from '@turnpike/logging/createLogger';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Db } from '../database/openDatabases.ts';
import { changeKeyStatus, type StatusChange } from '../keys/changeKeyStatus.ts';
import type { RouterClient } from '../router/routerClient.ts';

const paramsSchema = z.object({ key_id: z.string() });

export interface PostKeyStatusDependencies {
  log: Logger;
  db: Db;
  router: Pick<RouterClient, 'announceGenerations'>;
}

/** POST /internal/keys/{key_id}/revoke, /block and /unblock. Repeating one announces the key to the router again. */
export function postKeyStatus(change: StatusChange, { log, db, router }: PostKeyStatusDependencies): RequestHandler {
  return async (req, res) => {
    const { key_id: keyId } = paramsSchema.parse(req.params);
    const { status, ...generation } = await changeKeyStatus(db, { keyId, change });
    toChangeLog(log, res).info({ keyId, workspaceId: generation.workspaceId, status }, 'key status set');
    await router.announceGenerations([generation], toRequestLog(log, res));
    res.json({ key_id: keyId, status });
  };
}
