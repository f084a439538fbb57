import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import { type Context, defineCommand, type Report } from '../cli/command.ts';
import { creditId, usd, workspaceId } from '../cli/fields.ts';
import { toAmountFields, toUsdCell } from '../report/amounts.ts';
import { readBalances } from '../stack/workspace.ts';

const operands = { workspaceId: 'WS', amount: 'USD' };
const options = {
  id: { value: 'CREDIT_ID', help: 'names this credit: given again, it changes nothing' },
  note: { value: 'TEXT', help: 'where it comes from, for people' },
};
const NOT_POSITIVE = 'must be more than nothing: "credit add" gives it, "credit take" takes it';
const input = z.object({
  workspaceId,
  amount: z
    .string()
    .refine((text) => !text.startsWith('-'), NOT_POSITIVE)
    .pipe(usd)
    .refine((amount) => amount > 0n, NOT_POSITIVE),
  id: creditId,
  note: z.string().max(500, 'must be at most 500 characters').default(''),
});
type NewCredit = z.output<typeof input>;

/**
 * Adds a credit of `amountNanoUsd`, which is below zero where it takes; `done` says for people what that did. Unless `isSure`, it
 * asks before it leaves less than nothing.
 */
async function change(
  { workspaceId: workspace, id, note }: NewCredit,
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
  const body = { credit_id: id, workspace_id: workspace, amount_nano_usd: amountNanoUsd.toString(), note };
  const { applied } = await services.ledger.addCredit({ body });
  // The credit is recorded by then, so a ledger that gives no sums must not make the command fail.
  const after = await readBalances(services, workspace).catch(() => undefined);
  const left = after && `; ${toUsdCell(after.credited_nano_usd - after.spent_nano_usd)} USD are left`;
  return {
    document: { credit_id: id, workspace_id: workspace, ...toAmountFields('amount', amountNanoUsd), applied },
    text: applied ? `${done}${left ?? ''}.` : `${done} under this id before; nothing was changed.`,
  };
}

export const addCredit = defineCommand({
  words: 'credit add',
  summary: 'give a workspace something to spend, once for each credit id',
  operands,
  options,
  input,
  run: (credit, context) => {
    const { workspaceId: workspace, amount } = credit;
    const done = `${workspace} was given ${toUsdCell(amount)} USD`;
    return change(credit, { amountNanoUsd: amount, done, isSure: true }, context);
  },
});

/** A workspace below zero is served no more, so whoever does that says that they mean it. */
export const takeCredit = defineCommand({
  words: 'credit take',
  summary: 'take credit from a workspace, from its next call on, once for each credit id',
  operands,
  options: { ...options, yes: { help: 'do not ask for a confirmation where it leaves less than nothing' } },
  input: input.extend({ yes: z.boolean().default(false) }),
  run: ({ yes, ...credit }, context) => {
    const { workspaceId: workspace, amount } = credit;
    const done = `${toUsdCell(amount)} USD were taken from ${workspace}`;
    return change(credit, { amountNanoUsd: -amount, done, isSure: yes }, context);
  },
});
