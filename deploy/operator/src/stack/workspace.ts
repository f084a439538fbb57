import { nanoUsdSchema } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import { toAmountFields } from '../report/amounts.ts';
import type { ServiceClient } from './createServiceClient.ts';

/** A workspace as auth shows it to the operator. */
export const workspaceSchema = z.object({
  workspace_id: z.string(),
  organization_id: z.string(),
  name: z.string(),
  region: z.string(),
  billing_status: z.enum(['active', 'on_hold', 'not_provisioned']),
  monthly_cap_nano_usd: nanoUsdSchema.nullable(),
});
export type Workspace = z.output<typeof workspaceSchema>;

export function toWorkspaceDocument({ monthly_cap_nano_usd: monthlyCap, ...workspace }: Workspace): object {
  return { ...workspace, ...toAmountFields('monthly_cap', monthlyCap) };
}

/** A workspace by its id. Throws a `RefusedError` when there is none. */
export function getWorkspace(services: ServiceClient, workspaceId: string): Promise<Workspace> {
  const request = { service: 'auth', method: 'GET', path: `/internal/workspaces/${workspaceId}` } as const;
  return services.call(request, workspaceSchema);
}
