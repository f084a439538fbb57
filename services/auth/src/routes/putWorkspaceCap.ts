import { createBodyReader } from '@turnpike/http-service/createBodyReader';
import { toChangeLog, toRequestLog } from '@turnpike/http-service/toRequestLog';
import type { Logger } from '@turnpike/logging/createLogger';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Db } from '../database/openDatabases.ts';
import { findKeyGenerations } from '../keys/findKeyGenerations.ts';
import type { RouterClient } from '../router/routerClient.ts';
import { capNanoUsd } from '../wire/internalFields.ts';
import { toLoggedWorkspace, toWorkspaceBody } from '../wire/workspaceBody.ts';
import { setMonthlyCap } from '../workspaces/changeWorkspace.ts';

const bodySchema = z.strictObject({ monthly_cap_nano_usd: capNanoUsd });

export interface PutWorkspaceCapDependencies {
  log: Logger;
  db: Db;
  router: Pick<RouterClient, 'announceGenerations'>;
}

/** PUT /internal/workspaces/{workspace_id}/cap: what a workspace may spend a month; null lifts the cap. */
export function putWorkspaceCap({ log, db, router }: PutWorkspaceCapDependencies): RequestHandler {
  const readBody = createBodyReader(bodySchema, { limitBytes: 1_024 });
  return async (req, res) => {
    const { monthly_cap_nano_usd: monthlyCapNanoUsd } = await readBody(req, res);
    const workspace = await setMonthlyCap(db, { workspaceId: String(req.params.workspace_id), monthlyCapNanoUsd });
    toChangeLog(log, res).info(toLoggedWorkspace(workspace), 'workspace cap set');
    await router.announceGenerations(await findKeyGenerations(db, workspace), toRequestLog(log, res));
    res.json(toWorkspaceBody(workspace));
  };
}
