import { LARGEST_AUTOMATIC_LIMIT_CENTS } from '@turnpike/internal-api/controlPlane';
import { z } from 'zod';
import { type Command, defineCommand, defineList } from '../cli/command.ts';
import { cents, operand, organizationId } from '../cli/fields.ts';
import { tabulate, toFacts, withAmounts } from '../report/entries.ts';
import { formatTable } from '../report/formatTable.ts';
import { readPages } from '../stack/readPages.ts';

const toAmount = (limit: number): string => (limit / 100).toFixed(2);
const LARGEST = `must be at most ${toAmount(LARGEST_AUTOMATIC_LIMIT_CENTS)}`;
const COLUMNS = { id: 'organization_id', name: 'name', made: 'created_at', 'on hold': 'is_on_hold' } as const;

export const organizationCommands: Command[] = [
  defineList({
    words: 'organizations list',
    summary: 'every organization of the account layer, which all regions have together',
    isOfAllRegions: true,
    name: 'organizations',
    ifNone: 'There are no organizations.',
    read: (_input, { services: { account } }) =>
      readPages('organizations', (after) => account.listOrganizations({ params: { after } })),
    columns: COLUMNS,
  }),
  defineCommand({
    words: 'organizations show',
    summary: 'an organization and its workspaces of all regions, as the account layer has them',
    isOfAllRegions: true,
    input: z.object({ organizationId }),
    async run({ organizationId: id }, { services, table }) {
      const params = { organization_id: id };
      const { workspaces, ...organization } = await services.account.getOrganization({ params });
      const columns = {
        workspace: 'workspace_id',
        region: 'region',
        name: 'name',
        status: 'status',
        'monthly cap USD': 'monthly_cap_nano_usd',
      } as const;
      const shown = workspaces.length > 0 ? tabulate(table, columns, workspaces) : 'It has no workspaces.';
      return {
        document: {
          ...organization,
          workspaces: workspaces.map(({ version: _version, ...workspace }) => withAmounts(workspace)),
        },
        text: `${formatTable(toFacts(COLUMNS, organization))}\n\n${shown}`,
      };
    },
  }),
  defineCommand({
    words: 'organizations automatic-limit',
    summary: 'set what automatic top-ups of an organization may be in a month, in each currency; "usual" takes it back',
    isOfAllRegions: true,
    input: z.object({
      organizationId,
      limit: operand(
        'AMOUNT|usual',
        z.union([
          z.literal('usual').transform(() => null),
          cents.refine((limit) => limit <= LARGEST_AUTOMATIC_LIMIT_CENTS, LARGEST),
        ]),
      ),
    }),
    async run({ organizationId: id, limit }, { services }) {
      const params = { organization_id: id };
      const set = await services.account.setAutomaticLimit({ params, body: { month_limit_cents: limit } });
      return {
        document: set,
        text: `${id} may be charged ${toAmount(set.month_limit_cents)} a month by automatic top-ups, in each currency and without tax. It was ${toAmount(set.was_cents)}.`,
      };
    },
  }),
  defineList({
    words: 'members list',
    summary: 'the members of an organization and their roles',
    isOfAllRegions: true,
    input: z.object({ organizationId }),
    name: 'members',
    ifNone: 'It has no members.',
    read: async ({ organizationId: id }, { services: { account } }) =>
      (await account.listMembers({ params: { organization_id: id } })).members,
    columns: { user: 'user_id', name: 'name', address: 'address', role: 'role', joined: 'joined_at' },
    about: ({ organizationId: id }) => ({ organization_id: id }),
  }),
];
