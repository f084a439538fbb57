import type { LoadKey } from './load/startLoad.ts';
import type { BookedStack } from './stack/bookedStack.ts';

/** A workspace of one cell, whose books are checked when the cell has run. */
export interface Account {
  workspaceId: string;
  keys: LoadKey[];
}

export interface AccountOptions {
  keys?: number;
  creditNanoUsd?: bigint;
  capNanoUsd?: bigint;
  budgetNanoUsd?: bigint;
}

const KEYS = 20;
/** 100 USD: no call of a cell that is not about money comes near it. */
const PLENTY = 100_000_000_000n;

/** Makes a workspace with credit and keys. */
export async function openAccount(
  { operator }: Pick<BookedStack, 'operator'>,
  { keys = KEYS, creditNanoUsd = PLENTY, capNanoUsd, budgetNanoUsd }: AccountOptions = {},
): Promise<Account> {
  const workspaceId = await operator.makeWorkspace({ capNanoUsd: capNanoUsd ?? null });
  if (creditNanoUsd > 0n) await operator.addCredit(workspaceId, creditNanoUsd);
  const made = Array.from({ length: keys }, () =>
    operator.makeKey(workspaceId, { ...(budgetNanoUsd !== undefined && { budgetNanoUsd }) }),
  );
  return { workspaceId, keys: await Promise.all(made) };
}
