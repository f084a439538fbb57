import type { RequestHandler } from 'express';
import type { Db } from '../database/openDatabases.ts';
import { PAGE_SIZE, parseAfter, toNextAfter } from '../wire/page.ts';
import { toWorkspaceBody } from '../wire/workspaceBody.ts';
import { listWorkspaces } from '../workspaces/readWorkspaces.ts';

/** GET /internal/workspaces?after=: every workspace of the region, page by page. */
export function getWorkspaces({ db }: { db: Db }): RequestHandler {
  return async (req, res) => {
    const workspaces = await listWorkspaces(db, { after: parseAfter(req), limit: PAGE_SIZE });
    const nextAfter = toNextAfter(workspaces.map(({ workspaceId }) => workspaceId));
    res.json({ workspaces: workspaces.map(toWorkspaceBody), next_after: nextAfter });
  };
}
