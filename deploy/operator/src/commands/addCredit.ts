import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { creditId, usd, workspaceId } from '../cli/fields.ts';
import { toAmountFields, toUsdCell } from '../report/amounts.ts';
import { getWorkspace } from '../stack/workspace.ts';

const answerSchema = z.object({ applied: z.boolean() });

export const addCredit = defineCommand({
  words: 'credit add',
  summary: 'give a workspace something to spend, once for each credit id',
  operands: { workspaceId: 'WS', amount: 'USD' },
  options: {
    id: { value: 'CREDIT_ID', help: 'names this credit: given again, it changes nothing' },
    note: { value: 'TEXT', help: 'where it comes from, for people' },
  },
  input: z.object({
    workspaceId,
    amount: usd.refine((amount) => amount > 0n, 'must be more than nothing'),
    id: creditId,
    note: z.string().max(500, 'must be at most 500 characters').default(''),
  }),
  async run({ workspaceId: workspace, amount, id, note }, { services }) {
    // The ledger takes credits of workspaces it has never heard of: a mistyped id must not get one.
    await getWorkspace(services, workspace);
    const body = { credit_id: id, workspace_id: workspace, amount_nano_usd: amount.toString(), note };
    const request = { service: 'usage-ledger', method: 'POST', path: '/internal/credits', body } as const;
    const { applied } = await services.call(request, answerSchema);
    return {
      document: { credit_id: id, workspace_id: workspace, ...toAmountFields('amount', amount), applied },
      text: applied
        ? `${workspace} was given ${toUsdCell(amount)} USD.`
        : `${workspace} was given ${toUsdCell(amount)} USD under this id before; nothing was changed.`,
    };
  },
});
