import { createBodyReader } from '@turnpike/http-service/createBodyReader';
import { toChangeLog } from '@turnpike/http-service/toRequestLog';
import type { Logger } from '@turnpike/logging/createLogger';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Db } from '../database/openDatabases.ts';
import { workspaceId } from '../wire/internalFields.ts';
import { toLoggedWorkspace, toWorkspaceBody } from '../wire/workspaceBody.ts';
import { createWorkspace } from '../workspaces/putWorkspace.ts';
import { workspaceFields } from './putWorkspace.ts';

const bodySchema = z.strictObject({ workspace_id: workspaceId, ...workspaceFields });

/** POST /internal/workspaces: creates a workspace, and changes none that is there: it would be taken off its hold and its cap. */
export function postWorkspace({ log, db, region }: { log: Logger; db: Db; region: 'us' | 'eu' }): RequestHandler {
  const readBody = createBodyReader(bodySchema, { limitBytes: 16 * 1_024 });
  return async (req, res) => {
    const body = await readBody(req, res);
    const workspace = await createWorkspace(db, {
      workspaceId: body.workspace_id,
      organizationId: body.organization_id,
      name: body.name,
      region,
      billingStatus: body.billing_status,
      monthlyCapNanoUsd: body.monthly_cap_nano_usd,
    });
    toChangeLog(log, res).info(toLoggedWorkspace(workspace), 'workspace created');
    res.json(toWorkspaceBody(workspace));
  };
}
