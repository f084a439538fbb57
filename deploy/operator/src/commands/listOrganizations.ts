import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { toInstantCell } from '../report/amounts.ts';
import { readPages } from '../stack/readPages.ts';

const COLUMNS = [{ title: 'id' }, { title: 'name' }, { title: 'made' }, { title: 'on hold' }];

export const listOrganizations = defineCommand({
  words: 'organizations list',
  summary: 'every organization of the account layer, which all regions have together',
  isOfAllRegions: true,
  input: z.object({}),
  async run(_input, { services, table }) {
    const organizations = await readPages(async (after) => {
      const page = await services.account.listOrganizations({ params: { after } });
      return { entries: page.organizations, nextAfter: page.next_after };
    });
    const rows = organizations.map((organization) => [
      organization.organization_id,
      organization.name,
      toInstantCell(organization.created_at),
      organization.is_on_hold ? 'yes' : 'no',
    ]);
    return {
      document: { organizations },
      text: rows.length > 0 ? table(COLUMNS, rows) : 'There are no organizations.',
    };
  },
});
