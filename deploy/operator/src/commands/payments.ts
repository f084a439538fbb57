import { z } from 'zod';
import { type Command, defineCommand, defineList } from '../cli/command.ts';
import { seconds } from '../cli/fields.ts';
import { toInstantCell, toMoneyCell } from '../report/cells.ts';
import { readPages } from '../stack/readPages.ts';

const COLUMNS = [
  { title: 'object' },
  { title: 'processor', isNumber: true },
  { title: 'our books', isNumber: true },
  { title: 'cause' },
  { title: 'moved' },
];
/** The first comparison reads every movement there was. */
const TIMEOUT_MS = 10 * 60 * 1_000;

export const paymentCommands: Command[] = [
  defineList({
    words: 'disputes list',
    summary: 'disputes of payments as the payment processor has them, and the credit that each has taken',
    isOfAllRegions: true,
    name: 'disputes',
    ifNone: 'There are no disputes.',
    read: (_input, { services: { account } }) =>
      readPages('disputes', (after) => account.listDisputes({ params: { after } })),
    columns: {
      id: 'dispute_id',
      'top-up': 'top_up_id',
      organization: 'organization_id',
      status: 'status',
      reason: 'reason',
      disputed: (dispute) => toMoneyCell(dispute.gross_cents, dispute.currency),
      'taken USD': 'taken_nano_usd',
      hold: 'hold_id',
      opened: 'opened_at',
    },
  }),
  defineCommand({
    words: 'payments compare',
    summary: 'hold every movement of money at the payment processor against our books; exit code 1 unless all agree',
    isOfAllRegions: true,
    input: z.object({
      grace: seconds('what moved later may be on its way to our books; 3600 if not given', 86_400),
    }),
    async run({ grace }, { services, table }) {
      const params = { grace_seconds: grace };
      const compared = await services.account.comparePayments({ params, timeoutMs: TIMEOUT_MS });
      const { differences, balances } = compared;
      const rows = differences.map(({ source, currency, theirs_cents: theirs, ours_cents: ours, cause, at }) => [
        source ?? '-',
        toMoneyCell(theirs, currency),
        toMoneyCell(ours, currency),
        cause ?? '-',
        toInstantCell(at),
      ]);
      const sums = balances.map(
        ({ currency, theirs_cents: theirs, ours_cents: ours }) =>
          `  Balance: ${toMoneyCell(theirs, currency)} at the processor, ${toMoneyCell(ours, currency)} in our books.`,
      );
      const verdict =
        differences.length === 0 ? 'Every movement is in both.' : `Movements that differ: ${differences.length}.`;
      return {
        document: { agree: differences.length === 0, ...compared },
        text: [...(rows.length > 0 ? [table(COLUMNS, rows), ''] : []), ...sums, `  ${verdict}`].join('\n'),
        isFailure: differences.length > 0,
      };
    },
  }),
];
