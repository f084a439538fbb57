import type { RequestHandler } from 'express';
import type { Db } from '../database/openDatabases.ts';
import { listKeyDetails } from '../keys/keyDetails.ts';
import { toKeyDetailsBody } from '../wire/keyDetailsBody.ts';
import { PAGE_SIZE, parseAfter, toNextAfter } from '../wire/page.ts';
import { getWorkspace } from '../workspaces/readWorkspaces.ts';

/** GET /internal/workspaces/{workspace_id}/keys?after=: the keys of a workspace, page by page. */
export function getWorkspaceKeys({ db }: { db: Db }): RequestHandler {
  return async (req, res) => {
    const { workspaceId } = await getWorkspace(db, String(req.params.workspace_id));
    const keys = await listKeyDetails(db, { workspaceId, after: parseAfter(req), limit: PAGE_SIZE });
    res.json({ keys: keys.map(toKeyDetailsBody), next_after: toNextAfter(keys.map(({ keyId }) => keyId)) });
  };
}
