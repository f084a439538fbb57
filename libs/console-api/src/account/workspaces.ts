import { REGIONS } from '@turnpike/config/region';
import * as z from 'zod/mini';
import { limitNanoUsd, nanoUsd } from '../amounts.ts';
import { defineRoutes, displayName, idSchema, inOrganization, instant, UNKNOWN_WORKSPACE } from './accountRoute.ts';

const region = z.enum(REGIONS);
const workspaceSchema = z.object({
  workspace_id: z.string(),
  region,
  name: z.string(),
  /** `on_hold`: every call is refused. `not_provisioned`: so is every call that costs, until the first payment. */
  status: z.enum(['active', 'on_hold', 'not_provisioned']),
  /** The most that the workspace may spend in a calendar month (UTC). Null: no cap. */
  monthly_cap_nano_usd: z.nullable(nanoUsd),
  created_at: instant,
});

/** The routes of workspaces. */
export const workspaceRoutes = defineRoutes({
  listRegions: {
    access: { of: 'anyone' },
    method: 'GET',
    path: '/account/regions',
    promise: 'Lists the regions with the console host of each and the base address of its API.',
    answer: z.object({
      regions: z.array(z.object({ region, console_url: z.string(), base_url: z.string() })),
    }),
  },
  listWorkspaces: {
    access: { of: 'member', right: 'organization.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/workspaces',
    promise: 'Lists the workspaces, at most one a region.',
    params: z.object(inOrganization),
    answer: z.object({ workspaces: z.array(workspaceSchema) }),
  },
  createWorkspace: {
    access: { of: 'member', right: 'workspaces.write', recent: true },
    method: 'POST',
    path: '/account/organizations/:organization_id/workspaces',
    promise: 'Makes the workspace of a region. It stays in that region for ever, and there is one a region.',
    params: z.object(inOrganization),
    body: z.object({ region, name: displayName }),
    status: 201,
    answer: workspaceSchema,
    faults: {
      workspace_exists: { status: 409, message: 'This organization has its workspace of this region already.' },
    },
  },
  changeWorkspace: {
    access: { of: 'member', right: 'workspaces.change', recent: true },
    method: 'PATCH',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id',
    promise:
      'Renames a workspace, or sets its monthly cap. What is left out stays. The region applies a change within 5 s; calls in flight go on.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    body: z
      .strictObject({ name: z.optional(displayName), monthly_cap_nano_usd: z.optional(limitNanoUsd) })
      .check(z.refine((body) => Object.keys(body).length > 0, 'must have a name or a monthly cap')),
    answer: workspaceSchema,
    faults: UNKNOWN_WORKSPACE,
  },
  createConsoleToken: {
    access: { of: 'member', right: 'usage.read' },
    method: 'POST',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/console-token',
    promise:
      "Signs a token for the console host of the workspace's region, valid for 5 minutes. It names the user, the workspace and the role.",
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    status: 201,
    answer: z.object({ token: z.string(), region, ends_at: instant }),
    faults: UNKNOWN_WORKSPACE,
  },
});
