import { type FeedFollower, FeedRefused, followFeed } from '@turnpike/feed/followFeed';
import type { Repetition } from '@turnpike/lifecycle/repeat';
import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import { statements } from '../database/statements.ts';
import type { NewCredit } from './addCredit.ts';
import { noteTakeBack } from './takeBacks.ts';

export interface CreditFollower extends Omit<FeedFollower, 'applyEntry' | 'tellGate'> {
  /** Makes the gate count a workspace's present credits. Throws `gate_not_told`. */
  announceCredit: (workspaceId: string) => Promise<void>;
}

/**
 * Adds the account layer's credits to the books, each id once. Routers ask for new credit before they refuse a call. The gate is told of
 * credit that is taken; if this process ends in between, the next recorded call of the workspace brings it there.
 */
export function followCredits({ announceCredit, ...follower }: CreditFollower): Repetition | undefined {
  const taken = new Set<string>();
  return followFeed({
    ...follower,
    async applyEntry(tx, entry) {
      if (entry.kind === 'take_back') await noteTakeBack(tx, entry);
      if (entry.kind !== 'credit') return;
      const { credit_id: creditId, workspace_id: workspaceId, nano_usd: amountNanoUsd, note } = entry;
      await applyCredit(tx, { creditId, workspaceId, amountNanoUsd, note });
      if (amountNanoUsd < 0n) taken.add(workspaceId);
    },
    async tellGate() {
      for (const workspaceId of taken) {
        await announceCredit(workspaceId);
        taken.delete(workspaceId);
      }
    },
  });
}

/** Adds a credit whose id is unknown, unless it is of nothing. Throws `FeedRefused` for a known id with another workspace or amount. */
export async function applyCredit(tx: Queryable, credit: NewCredit): Promise<void> {
  if (credit.amountNanoUsd === 0n) return;
  if ((await tx.execute(statements.addCredit(credit))) === 1) return;
  const { creditId, workspaceId, amountNanoUsd } = credit;
  const [known] = await tx.query(sql`
    SELECT credit_id FROM credit
    WHERE credit_id = ${creditId} AND workspace_id = ${workspaceId} AND amount_nano_usd = ${amountNanoUsd}`);
  if (!known) throw new FeedRefused(`the credit ${creditId} of the feed is known with another workspace or amount`);
}
