import { sql } from '@turnpike/postgres/sql';
import { recordTaken } from '../src/billing/refunds.ts';
import type { TestAccount } from './startAccount.ts';

type Report = typeof recordTaken;

interface TakeBack {
  workspaceId: string;
  wanted: bigint;
  unit: bigint;
  taken: bigint | undefined;
}

/** The books of the region `eu` or `us` as its ledger keeps them: it follows the feed, spends, and takes credit back. */
export class TestRegion {
  readonly credits = new Map<string, { workspaceId: string; amount: bigint }>();
  readonly spent = new Map<string, bigint>();
  readonly #takeBacks = new Map<string, TakeBack>();
  readonly #region: 'eu' | 'us';
  readonly #account: Pick<TestAccount, 'db' | 'reversalQueue'>;
  #seq = 0;

  constructor(account: Pick<TestAccount, 'db' | 'reversalQueue'>, region: 'eu' | 'us') {
    this.#account = account;
    this.#region = region;
  }

  balanceOf(workspaceId: string): bigint {
    let balance = -(this.spent.get(workspaceId) ?? 0n);
    for (const credit of this.credits.values()) if (credit.workspaceId === workspaceId) balance += credit.amount;
    return balance;
  }

  spend(workspaceId: string, amount: bigint): void {
    this.spent.set(workspaceId, (this.spent.get(workspaceId) ?? 0n) + amount);
  }

  /** Follows the feed to its end, and takes back and reports what is wanted. */
  async work(report: Report = recordTaken): Promise<void> {
    const rows = await this.#account.db.query(sql<{ seq: bigint; body: Record<string, string> }>`
      SELECT seq, body FROM feed WHERE region = ${this.#region} AND seq > ${this.#seq} ORDER BY seq`);
    for (const { seq, body } of rows) {
      this.#apply(body);
      this.#seq = Number(seq);
    }
    for (const [id, takeBack] of this.#takeBacks) {
      takeBack.taken ??= this.#take(id, takeBack);
      const { taken: takenNanoUsd } = takeBack;
      await report(this.#account, { refundId: id, region: this.#region, takenNanoUsd });
      this.#takeBacks.delete(id);
    }
  }

  #apply(body: Record<string, string>): void {
    const { kind, workspace_id: workspaceId = '', nano_usd: nanoUsd = '0' } = body;
    if (kind === 'credit') this.#credit(body.credit_id ?? '', workspaceId, BigInt(nanoUsd));
    if (kind === 'take_back')
      this.#takeBacks.set(body.take_back_id ?? '', {
        ...{ workspaceId, wanted: BigInt(nanoUsd), unit: BigInt(body.unit_nano_usd ?? '1'), taken: undefined },
      });
  }

  #credit(id: string, workspaceId: string, amount: bigint): void {
    if (this.credits.has(id)) throw new Error(`the credit ${id} came twice`);
    this.credits.set(id, { workspaceId, amount });
  }

  #take(id: string, { workspaceId, wanted, unit }: TakeBack): bigint {
    const free = this.balanceOf(workspaceId);
    const amount = free <= 0n ? 0n : ((free < wanted ? free : wanted) / unit) * unit;
    if (amount > 0n) this.#credit(id, workspaceId, -amount);
    return amount;
  }
}
