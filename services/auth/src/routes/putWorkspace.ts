import { ApiError } from '@turnpike/api-errors/apiError';
import { createBodyReader, type InvalidRequestFault } from '@turnpike/http-service/createBodyReader';
import { toChangeLog, toRequestLog } from '@turnpike/http-service/toRequestLog';
import type { Logger } from '@turnpike/logging/createLogger';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Db } from '../database/openDatabases.ts';
import { findKeyGenerations } from '../keys/findKeyGenerations.ts';
import type { RouterClient } from '../router/routerClient.ts';
import { displayName, limitNanoUsd, organizationId, workspaceId } from '../wire/internalFields.ts';
import { toLoggedWorkspace, toWorkspaceBody } from '../wire/workspaceBody.ts';
import { putWorkspace as put } from '../workspaces/putWorkspace.ts';

const paramsSchema = z.object({ workspace_id: workspaceId });
/** What a workspace is made of, beside its id and the region of the stack. */
export const workspaceFields = {
  organization_id: organizationId,
  name: displayName,
  billing_status: z.enum(['active', 'on_hold', 'not_provisioned']),
  monthly_cap_nano_usd: limitNanoUsd,
};
const bodySchema = z.strictObject(workspaceFields);

export interface PutWorkspaceDependencies {
  log: Logger;
  db: Db;
  /** The stack's region, in which every workspace made here lives for good. */
  region: 'us' | 'eu';
  router: Pick<RouterClient, 'announceGenerations'>;
}

/** PUT /internal/workspaces/{workspace_id}: creates a workspace or brings it up to date, and tells the router of its keys. */
export function putWorkspace({ log, db, region, router }: PutWorkspaceDependencies): RequestHandler {
  const readBody = createBodyReader(bodySchema, { limitBytes: 16 * 1_024 });
  return async (req, res) => {
    const params = paramsSchema.safeParse(req.params);
    if (!params.success) {
      const problem = 'must be ws_ and letters, digits or dashes';
      throw new ApiError<InvalidRequestFault>({ kind: 'invalid_request', param: 'workspace_id', problem });
    }
    const body = await readBody(req, res);
    const workspace = await put(db, {
      workspaceId: params.data.workspace_id,
      organizationId: body.organization_id,
      name: body.name,
      region,
      billingStatus: body.billing_status,
      monthlyCapNanoUsd: body.monthly_cap_nano_usd,
    });
    toChangeLog(log, res).info(toLoggedWorkspace(workspace), 'workspace set');
    await router.announceGenerations(await findKeyGenerations(db, workspace), toRequestLog(log, res));
    res.json(toWorkspaceBody(workspace));
  };
}
