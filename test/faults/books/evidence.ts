import type { CallRecord } from '../load/callRecord.ts';
import type { MediaRecord } from '../load/media/mediaRecord.ts';
import type { Render } from '../stack/mediaBackends.ts';
import type { MediaModels } from '../stack/mediaModels.ts';
import type { ServedRequest } from '../stack/simulators.ts';
import type { WorkspaceBalances } from './readBalances.ts';
import type { JobRow } from './readJobs.ts';
import type { GivenCredit, LedgerRow, LedgerTotals } from './readLedger.ts';
import type { PriceList } from './readPrices.ts';

/** All that is known of the calls of one cell, by everybody who knows anything of them. */
export interface Evidence {
  /** What the clients saw. */
  calls: readonly CallRecord[];
  /** What the engines served. */
  served: readonly ServedRequest[];
  rows: readonly LedgerRow[];
  media: MediaEvidence;
  totals: LedgerTotals;
  credits: readonly GivenCredit[];
  balances: ReadonlyMap<string, WorkspaceBalances>;
  prices: PriceList;
}

/** What is known of the media calls of one cell beside their rows in the ledger. */
export interface MediaEvidence {
  calls: readonly MediaRecord[];
  /** The table of jobs. */
  jobs: readonly JobRow[];
  /** What was asked of, and what that costs. */
  models: MediaModels;
  /** What the media backends rendered. */
  renders: readonly Render[];
}

/** What a fault may do to the books without anything being wrong. */
export interface BookRules {
  /** Most calls whose ending nobody could know, as their router died or froze or the engine did not say. */
  unknownAtMost: number;
  /** Whether engines count truly; where they are made to lie, rows have what they said to the client. */
  enginesLie: boolean;
  /** Whether engines are broken, so that they fail streams of which clients have a part. */
  enginesBreak: boolean;
  /** Calls whose rows went with a Postgres that was the event log as well. */
  goneWithPostgres: Set<string>;
}

/** What the books say. Whole are those with nothing lost, doubled or apart, and no problem. */
export interface Findings {
  lost: number;
  doubled: number;
  /** Nano-dollars: the sum of all that is apart. */
  difference: bigint;
  /** One line for each kind of mistake, with an example. */
  problems: string[];
}
