import { toChangeLog, toRequestLog } from '@turnpike/http-service/createHttpApp';
import type { authApi } from '@turnpike/internal-api/auth';
import type { Asked, Handlers } from '@turnpike/internal-api/transport/serveApi';
import type { Response } from 'express';
import { findKeyGenerations } from '../keys/keyGeneration.ts';
import { PAGE_SIZE, toNextAfter } from '../wire/page.ts';
import { toLoggedWorkspace, toWorkspaceBody } from '../wire/workspaceBody.ts';
import { changeHold, type HoldChange, renameWorkspace, setMonthlyCap } from '../workspaces/changeWorkspace.ts';
import { createWorkspace, putWorkspace, type VersionedWorkspace, type Workspace } from '../workspaces/putWorkspace.ts';
import { getWorkspace, listWorkspaces } from '../workspaces/readWorkspaces.ts';
import type { HandlerDependencies } from './handlerDependencies.ts';

type WorkspaceFields = Asked<typeof authApi.routes.putWorkspace>['body'];
type WorkspaceHandlers = Pick<
  Handlers<typeof authApi>,
  | 'listWorkspaces'
  | 'getWorkspace'
  | 'createWorkspace'
  | 'putWorkspace'
  | 'capWorkspace'
  | 'renameWorkspace'
  | 'holdWorkspace'
  | 'releaseWorkspace'
>;

/** Shows the operator the region's workspaces, and does what the operator wants of them. */
export function createWorkspaceHandlers(dependencies: HandlerDependencies): WorkspaceHandlers {
  const { log, db, region, router, changing } = dependencies;
  const note = (workspace: VersionedWorkspace, what: string, res: Response): void =>
    toChangeLog(log, res).info(toLoggedWorkspace(workspace), what);
  /** Repeating a change announces the workspace's keys to the router again. */
  async function tell(workspace: VersionedWorkspace, what: string, res: Response) {
    note(workspace, what, res);
    await router.announceGenerations(await findKeyGenerations(db, workspace), toRequestLog(log, res));
    return toWorkspaceBody(workspace);
  }
  const toWorkspace = (workspaceId: string, body: WorkspaceFields): Workspace => ({
    workspaceId,
    organizationId: body.organization_id,
    name: body.name,
    region,
    billingStatus: body.billing_status,
    monthlyCapNanoUsd: body.monthly_cap_nano_usd,
  });
  const turn = (change: HoldChange) =>
    changing(async ({ params: { workspace_id: workspaceId } }: { params: { workspace_id: string } }, res) =>
      tell(await changeHold(db, { workspaceId, change }), 'workspace status set', res),
    );
  return {
    async listWorkspaces({ params: { after } }) {
      const workspaces = await listWorkspaces(db, { after, limit: PAGE_SIZE });
      const nextAfter = toNextAfter(workspaces.map(({ workspaceId }) => workspaceId));
      return { workspaces: workspaces.map(toWorkspaceBody), next_after: nextAfter };
    },
    getWorkspace: async ({ params: { workspace_id: id } }) => toWorkspaceBody(await getWorkspace(db, id)),
    createWorkspace: changing(async ({ body }, res) => {
      const workspace = await createWorkspace(db, toWorkspace(body.workspace_id, body));
      note(workspace, 'workspace created', res);
      return toWorkspaceBody(workspace);
    }),
    putWorkspace: changing(async ({ params: { workspace_id: workspaceId }, body }, res) =>
      tell(await putWorkspace(db, toWorkspace(workspaceId, body)), 'workspace set', res),
    ),
    capWorkspace: changing(async ({ params: { workspace_id: workspaceId }, body }, res) => {
      const monthlyCapNanoUsd = body.monthly_cap_nano_usd;
      return tell(await setMonthlyCap(db, { workspaceId, monthlyCapNanoUsd }), 'workspace cap set', res);
    }),
    renameWorkspace: changing(async ({ params: { workspace_id: workspaceId }, body: { name } }, res) =>
      tell(await renameWorkspace(db, { workspaceId, name }), 'workspace renamed', res),
    ),
    holdWorkspace: turn('hold'),
    releaseWorkspace: turn('release'),
  };
}
