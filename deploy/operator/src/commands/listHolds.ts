import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { organizationId } from '../cli/fields.ts';
import { toInstantCell } from '../report/amounts.ts';
import { readPages } from '../stack/readPages.ts';

const COLUMNS = [
  { title: 'id' },
  { title: 'organization' },
  { title: 'reason' },
  { title: 'opened' },
  { title: 'by' },
  { title: 'ended' },
  { title: 'by' },
  { title: 'note' },
];

export const listHolds = defineCommand({
  words: 'holds list',
  summary: 'the open holds of every organization, or every hold of one',
  isOfAllRegions: true,
  options: { organization: { value: 'ORG', help: 'open and ended holds of this organization alone' } },
  input: z.object({ organization: organizationId.optional() }),
  async run({ organization: id }, { services, table }) {
    const holds = await readPages(async (after) => {
      const page =
        id === undefined
          ? await services.account.listOpenHolds({ params: { after } })
          : await services.account.listHolds({ params: { organization_id: id, after } });
      return { entries: page.holds, nextAfter: page.next_after };
    });
    const rows = holds.map((hold) => [
      hold.hold_id,
      hold.organization_id,
      hold.reason,
      toInstantCell(hold.opened_at),
      hold.opened_by,
      toInstantCell(hold.ended_at),
      hold.ended_by ?? '-',
      hold.note,
    ]);
    return { document: { holds }, text: rows.length > 0 ? table(COLUMNS, rows) : 'There are no holds.' };
  },
});
