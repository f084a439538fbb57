import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { organizationId } from '../cli/fields.ts';
import { toAmountFields, toInstantCell, toUsdCell } from '../report/amounts.ts';
import { formatTable } from '../report/formatTable.ts';

const COLUMNS = [
  { title: 'workspace' },
  { title: 'region' },
  { title: 'name' },
  { title: 'status' },
  { title: 'monthly cap USD', isNumber: true },
];

export const showOrganization = defineCommand({
  words: 'organizations show',
  summary: 'an organization and its workspaces of all regions, as the account layer has them',
  isOfAllRegions: true,
  operands: { organizationId: 'ORG' },
  input: z.object({ organizationId }),
  async run({ organizationId: id }, { services, table }) {
    const { workspaces, ...organization } = await services.account.getOrganization({ params: { organization_id: id } });
    const head = formatTable([
      ['id', organization.organization_id],
      ['name', organization.name],
      ['made', toInstantCell(organization.created_at)],
      ['on hold', organization.is_on_hold ? 'yes' : 'no'],
    ]);
    const rows = workspaces.map((workspace) => [
      workspace.workspace_id,
      workspace.region,
      workspace.name,
      workspace.status,
      toUsdCell(workspace.monthly_cap_nano_usd),
    ]);
    return {
      document: {
        ...organization,
        workspaces: workspaces.map(({ monthly_cap_nano_usd: cap, version: _version, ...workspace }) => ({
          ...workspace,
          ...toAmountFields('monthly_cap', cap),
        })),
      },
      text: `${head}\n\n${rows.length > 0 ? table(COLUMNS, rows) : 'It has no workspaces.'}`,
    };
  },
});
