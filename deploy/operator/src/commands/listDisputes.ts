import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { toAmountFields, toInstantCell, toMoneyCell, toUsdCell } from '../report/amounts.ts';
import { readPages } from '../stack/readPages.ts';

const COLUMNS = [
  { title: 'id' },
  { title: 'top-up' },
  { title: 'organization' },
  { title: 'status' },
  { title: 'reason' },
  { title: 'disputed' },
  { title: 'taken USD' },
  { title: 'hold' },
  { title: 'opened' },
];

export const listDisputes = defineCommand({
  words: 'disputes list',
  summary: 'disputes of payments as the payment processor has them, and the credit that each has taken',
  isOfAllRegions: true,
  input: z.object({}),
  async run(_input, { services, table }) {
    const disputes = await readPages(async (after) => {
      const page = await services.account.listDisputes({ params: { after } });
      return { entries: page.disputes, nextAfter: page.next_after };
    });
    const rows = disputes.map((dispute) => [
      dispute.dispute_id,
      dispute.top_up_id,
      dispute.organization_id,
      dispute.status,
      dispute.reason,
      toMoneyCell(dispute.gross_cents, dispute.currency),
      toUsdCell(dispute.taken_nano_usd),
      dispute.hold_id ?? '-',
      toInstantCell(dispute.opened_at),
    ]);
    const document = disputes.map(({ taken_nano_usd: taken, ...dispute }) => ({
      ...dispute,
      ...toAmountFields('taken', taken),
    }));
    return {
      document: { disputes: document },
      text: rows.length > 0 ? table(COLUMNS, rows) : 'There are no disputes.',
    };
  },
});
