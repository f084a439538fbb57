import { toChangeLog, toRequestLog } from '@turnpike/http-service/toRequestLog';
import type { Logger } from '@turnpike/logging/createLogger';
import type { RequestHandler } from 'express';
import type { Db } from '../database/openDatabases.ts';
import { findKeyGenerations } from '../keys/findKeyGenerations.ts';
import type { RouterClient } from '../router/routerClient.ts';
import { toLoggedWorkspace, toWorkspaceBody } from '../wire/workspaceBody.ts';
import { changeHold, type HoldChange } from '../workspaces/changeWorkspace.ts';

export interface PostWorkspaceHoldDependencies {
  log: Logger;
  db: Db;
  router: Pick<RouterClient, 'announceGenerations'>;
}

/** POST /internal/workspaces/{workspace_id}/hold and /release. Repeating one announces its keys to the router again. */
export function postWorkspaceHold(
  change: HoldChange,
  { log, db, router }: PostWorkspaceHoldDependencies,
): RequestHandler {
  return async (req, res) => {
    const workspace = await changeHold(db, { workspaceId: String(req.params.workspace_id), change });
    toChangeLog(log, res).info(toLoggedWorkspace(workspace), 'workspace status set');
    await router.announceGenerations(await findKeyGenerations(db, workspace), toRequestLog(log, res));
    res.json(toWorkspaceBody(workspace));
  };
}
