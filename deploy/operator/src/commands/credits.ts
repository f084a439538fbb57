import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { InternalCallError, isRefusal } from '@turnpike/internal-api/transport/createClient';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import { type Command, type Context, defineCommand, type Report } from '../cli/command.ts';
import { creditId, flag, note, operand, option, usd, workspaceId } from '../cli/fields.ts';
import { RefusedError } from '../cli/operatorError.ts';
import { toInstantCell, toUsdCell } from '../report/cells.ts';
import { withAmounts } from '../report/entries.ts';
import type { Services } from '../stack/createServices.ts';
import { readPages } from '../stack/readPages.ts';
import { readBalances } from '../stack/workspace.ts';

const COLUMNS = [{ title: 'came' }, { title: 'id' }, { title: 'USD', isNumber: true }, { title: 'note' }];
const NOT_POSITIVE = 'must be more than nothing: "credit add" gives it, "credit take" takes it';
const input = z.object({
  workspaceId,
  amount: operand(
    'USD',
    z
      .string()
      .refine((text) => !text.startsWith('-'), NOT_POSITIVE)
      .pipe(usd)
      .refine((amount) => amount > 0n, NOT_POSITIVE),
  ),
  id: option('CREDIT_ID', 'names this credit: given again, it changes nothing', creditId),
  note: note('where it comes from, for people', 500),
});

/**
 * Adds a credit of `amountNanoUsd`, which is below zero where it takes; `done` says for people what that did. Unless `isSure`, it
 * asks before it leaves less than nothing.
 */
async function change(
  { workspaceId: workspace, id, note: words }: z.output<typeof input>,
  { amountNanoUsd, done, isSure }: { amountNanoUsd: NanoUsd; done: string; isSure: boolean },
  { services, confirm }: Context,
): Promise<Report> {
  // The ledger takes credits of workspaces it has never heard of: a mistyped id must not get one.
  await services.auth.getWorkspace({ params: { workspace_id: workspace } });
  if (!isSure) {
    const balances = await readBalances(services, workspace);
    const left = balances.credited_nano_usd - balances.spent_nano_usd + amountNanoUsd;
    const question = `This leaves ${workspace} with ${toUsdCell(left)} USD, so that all its calls are refused. Type ${workspace} to do it: `;
    if (left < 0n) await confirm(question, workspace);
  }
  const body = { credit_id: id, workspace_id: workspace, amount_nano_usd: amountNanoUsd.toString(), note: words };
  const { applied } = await services.ledger.addCredit({ body });
  await bookInAccount(services, {
    workspace,
    credit: { credit_id: id, amount_nano_usd: body.amount_nano_usd, note: words },
  });
  // The credit is recorded by then, so a ledger that gives no sums must not make the command fail.
  const after = await readBalances(services, workspace).catch(() => undefined);
  const left = after && `; ${toUsdCell(after.credited_nano_usd - after.spent_nano_usd)} USD are left`;
  return {
    document: withAmounts({ credit_id: id, workspace_id: workspace, amount_nano_usd: amountNanoUsd, applied }),
    text: applied ? `${done}${left ?? ''}.` : `${done} under this id before; nothing was changed.`,
  };
}

interface BookedCredit {
  workspace: string;
  credit: { credit_id: string; amount_nano_usd: string; note: string };
}

/**
 * Books a credit of the region in the account layer too, so that alerts and automatic top-ups count it. Does nothing for a workspace
 * that the account layer does not know.
 */
async function bookInAccount(services: Services, { workspace, credit }: BookedCredit): Promise<void> {
  if (!services.hasAccount) return;
  try {
    await services.account.adjustCredit({ params: { workspace_id: workspace }, body: credit });
  } catch (error) {
    if (!(error instanceof InternalCallError)) throw error;
    if (isRefusal(error, controlPlaneApi.routes.adjustCredit, 'workspace_not_found')) return;
    throw new RefusedError(
      `The region has the credit, and the account layer does not, because ${error.message}. Repeat it under the same id: it counts once.`,
    );
  }
}

export const creditCommands: Command[] = [
  defineCommand({
    words: 'credit add',
    summary: 'give a workspace something to spend, once for each credit id',
    input,
    run: (credit, context) => {
      const { workspaceId: workspace, amount } = credit;
      const done = `${workspace} was given ${toUsdCell(amount)} USD`;
      return change(credit, { amountNanoUsd: amount, done, isSure: true }, context);
    },
  }),
  // A workspace below zero is served no more, so an operator who does that confirms it.
  defineCommand({
    words: 'credit take',
    summary: 'take credit from a workspace, from its next call on, once for each credit id',
    input: input.extend({ yes: flag('do not ask for a confirmation where it leaves less than nothing') }),
    run: ({ yes, ...credit }, context) => {
      const { workspaceId: workspace, amount } = credit;
      const done = `${toUsdCell(amount)} USD were taken from ${workspace}`;
      return change(credit, { amountNanoUsd: -amount, done, isSure: yes }, context);
    },
  }),
  defineCommand({
    words: 'credit list',
    summary: 'what a workspace was given and what was taken from it, with the notes',
    input: z.object({ workspaceId }),
    async run({ workspaceId: id }, { services, table }) {
      const params = { workspace_id: id };
      // The ledger knows of no credits of a workspace that there is not.
      await services.auth.getWorkspace({ params });
      const credits = await readPages('credits', (after) =>
        services.ledger.listCredits({ params: { ...params, after: after || undefined } }),
      );
      const total = credits.reduce((sum, { amount_nano_usd: amount }) => sum + amount, 0n);
      const rows = credits.map((credit) => [
        toInstantCell(credit.created_at),
        credit.credit_id,
        toUsdCell(credit.amount_nano_usd),
        credit.note,
      ]);
      return {
        document: { ...params, credits: credits.map(withAmounts), ...withAmounts({ credited_nano_usd: total }) },
        text:
          rows.length > 0
            ? table(COLUMNS, [...rows, ['total', '', toUsdCell(total), '']])
            : `${id} was given nothing yet: "turnpike credit add" does it.`,
      };
    },
  }),
];
