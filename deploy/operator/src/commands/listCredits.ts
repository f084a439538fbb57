import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { workspaceId } from '../cli/fields.ts';
import { toAmountFields, toInstantCell, toUsdCell } from '../report/amounts.ts';
import { readPages } from '../stack/readPages.ts';

const COLUMNS = [{ title: 'came' }, { title: 'id' }, { title: 'USD', isNumber: true }, { title: 'note' }];

export const listCredits = defineCommand({
  words: 'credit list',
  summary: 'what a workspace was given and what was taken from it, with the notes',
  operands: { workspaceId: 'WS' },
  input: z.object({ workspaceId }),
  async run({ workspaceId: id }, { services, table }) {
    // The ledger knows of no credits of a workspace that there is not.
    await services.auth.getWorkspace({ params: { workspace_id: id } });
    const credits = await readPages(async (after) => {
      const params = { workspace_id: id, after: after || undefined };
      const { credits: entries, next_after: nextAfter } = await services.ledger.listCredits({ params });
      return { entries, nextAfter };
    });
    const total = credits.reduce((sum, { amount_nano_usd: amount }) => sum + amount, 0n);
    const rows = credits.map((credit) => [
      toInstantCell(credit.created_at),
      credit.credit_id,
      toUsdCell(credit.amount_nano_usd),
      credit.note,
    ]);
    return {
      document: {
        workspace_id: id,
        credits: credits.map(({ amount_nano_usd: amount, ...credit }) => ({
          ...credit,
          ...toAmountFields('amount', amount),
        })),
        ...toAmountFields('credited', total),
      },
      text:
        rows.length > 0
          ? table(COLUMNS, [...rows, ['total', '', toUsdCell(total), '']])
          : `${id} was given nothing yet: "turnpike credit add" does it.`,
    };
  },
});
