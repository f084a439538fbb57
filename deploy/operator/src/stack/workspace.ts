import type { workspaceSchema } from '@turnpike/internal-api/auth';
import type { z } from 'zod';
import { toAmountFields } from '../report/amounts.ts';

/** A workspace as `--json` shows it. How often it was changed is the gate's business. */
export function toWorkspaceDocument(workspace: z.output<typeof workspaceSchema>): object {
  const { monthly_cap_nano_usd: monthlyCap, version: _version, ...shown } = workspace;
  return { ...shown, ...toAmountFields('monthly_cap', monthlyCap) };
}
