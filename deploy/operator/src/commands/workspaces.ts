import { z } from 'zod';
import { type Command, defineCommand, defineList } from '../cli/command.ts';
import { displayName, operand, option, organizationId, usd, workspaceId, YES } from '../cli/fields.ts';
import { toUsdCell } from '../report/cells.ts';
import { toFacts, withAmounts } from '../report/entries.ts';
import { formatTable, toPrintable } from '../report/formatTable.ts';
import { readPages } from '../stack/readPages.ts';
import { readBalances, toWorkspaceDocument } from '../stack/workspace.ts';

export const workspaceCommands: Command[] = [
  // Never changes a workspace that is there. Without credit it can spend nothing, so the answer says how it gets some.
  defineCommand({
    words: 'workspaces create',
    summary: 'make a workspace, which pays for what its keys do',
    input: z.object({
      workspaceId,
      name: option('NAME', 'what people call it', displayName),
      organization: option(
        'ORG',
        'the customer it belongs to, with one workspace in a region; org_acme for ws_acme',
        organizationId.optional(),
      ),
      cap: option('USD', 'the most it may spend a month, as in 12.5; no cap if not given', usd.optional()),
    }),
    async run({ workspaceId: id, name, organization = id.replace(/^ws_/, 'org_'), cap }, { services }) {
      const body = {
        workspace_id: id,
        organization_id: organization,
        name,
        billing_status: 'active' as const,
        monthly_cap_nano_usd: cap?.toString() ?? null,
      };
      const workspace = await services.auth.createWorkspace({ body });
      return {
        document: toWorkspaceDocument(workspace),
        text: [
          `Made ${id} "${toPrintable(workspace.name)}" of ${workspace.organization_id}.`,
          `Next it needs something to spend and a key: "turnpike credit add ${id} 25 --id ID", "turnpike keys create --workspace ${id}".`,
        ].join('\n'),
      };
    },
  }),
  defineList({
    words: 'workspaces list',
    summary: 'every workspace of the region',
    name: 'workspaces',
    ifNone: 'There are no workspaces.',
    read: (_input, { services: { auth } }) =>
      readPages('workspaces', (after) => auth.listWorkspaces({ params: { after } })),
    columns: {
      id: 'workspace_id',
      organization: 'organization_id',
      name: 'name',
      billing: 'billing_status',
      'monthly cap USD': 'monthly_cap_nano_usd',
    },
    toDocument: toWorkspaceDocument,
  }),
  defineCommand({
    words: 'workspaces show',
    summary: 'a workspace and what it has left, by the calls that are recorded',
    input: z.object({ workspaceId }),
    async run({ workspaceId: id }, { services }) {
      const [workspace, balances] = await Promise.all([
        services.auth.getWorkspace({ params: { workspace_id: id } }),
        readBalances(services, id),
      ]);
      const { month, credited_nano_usd: credited, spent_nano_usd: spent, month_spent_nano_usd: monthSpent } = balances;
      const sums = { credited_nano_usd: credited, spent_nano_usd: spent, left_nano_usd: credited - spent };
      const facts = toFacts(
        {
          id: 'workspace_id',
          organization: 'organization_id',
          name: 'name',
          region: 'region',
          billing: 'billing_status',
          'account layer': ({ account_status: status }) => status ?? 'does not know it',
          'credited USD': 'credited_nano_usd',
          'spent USD': 'spent_nano_usd',
          'left USD': 'left_nano_usd',
          'monthly cap USD': 'monthly_cap_nano_usd',
          'cap of the account layer USD': 'account_cap_nano_usd',
          [`spent in ${month} USD`]: () => monthSpent,
        },
        { ...workspace, ...sums },
      );
      return {
        document: {
          ...toWorkspaceDocument(workspace),
          ...withAmounts({ ...sums, month, month_spent_nano_usd: monthSpent }),
        },
        text: formatTable(facts),
      };
    },
  }),
  defineCommand({
    words: 'workspaces rename',
    summary: 'give a workspace another name; one of the account layer is renamed in the dashboard',
    input: z.object({ workspaceId, name: operand('NAME', displayName) }),
    async run({ workspaceId: id, name }, { services }) {
      const workspace = await services.auth.renameWorkspace({ params: { workspace_id: id }, body: { name } });
      return { document: toWorkspaceDocument(workspace), text: `${id} is called "${toPrintable(workspace.name)}".` };
    },
  }),
  defineCommand({
    words: 'workspaces cap',
    summary: 'set what a workspace may spend a month; none lifts the cap',
    input: z.object({
      workspaceId,
      cap: operand(
        'USD|none',
        z.preprocess((text) => (text === 'none' ? null : text), usd.nullable()),
      ),
    }),
    async run({ workspaceId: id, cap }, { services }) {
      const body = { monthly_cap_nano_usd: cap?.toString() ?? null };
      const workspace = await services.auth.capWorkspace({ params: { workspace_id: id }, body });
      return {
        document: toWorkspaceDocument(workspace),
        text: cap === null ? `${id} has no monthly cap.` : `${id} may spend ${toUsdCell(cap)} USD a month.`,
      };
    },
  }),
  defineCommand({
    words: 'workspaces hold',
    summary: 'refuse every call of a workspace, from its next one on',
    input: z.object({ workspaceId, yes: YES }),
    async run({ workspaceId: id, yes }, { services, confirm }) {
      const params = { workspace_id: id };
      const { name } = await services.auth.getWorkspace({ params });
      if (!yes) await confirm(`This refuses every call of ${id} (${name}). Type ${id} to do it: `, id);
      const workspace = await services.auth.holdWorkspace({ params });
      const text = `${id} is ${workspace.billing_status}: its calls get 402 from the next one on.`;
      return { document: toWorkspaceDocument(workspace), text };
    },
  }),
  defineCommand({
    words: 'workspaces release',
    summary: 'serve a workspace on hold again, within 5 s',
    input: z.object({ workspaceId }),
    async run({ workspaceId: id }, { services }) {
      const workspace = await services.auth.releaseWorkspace({ params: { workspace_id: id } });
      return { document: toWorkspaceDocument(workspace), text: `${id} is ${workspace.billing_status}.` };
    },
  }),
];
