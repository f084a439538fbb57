import type { RequestHandler } from 'express';
import type { Db } from '../database/openDatabases.ts';
import { toWorkspaceBody } from '../wire/workspaceBody.ts';
import { getWorkspace as get } from '../workspaces/readWorkspaces.ts';

/** GET /internal/workspaces/{workspace_id}. */
export function getWorkspace({ db }: { db: Db }): RequestHandler {
  return async (req, res) => {
    res.json(toWorkspaceBody(await get(db, String(req.params.workspace_id))));
  };
}
