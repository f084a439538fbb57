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
  /** The clients' records. */
  calls: readonly CallRecord[];
  /** The engines' records. */
  served: readonly ServedRequest[];
  rows: readonly LedgerRow[];
  media: MediaEvidence;
  totals: LedgerTotals;
  credits: readonly GivenCredit[];
  balances: ReadonlyMap<string, WorkspaceBalances>;
  prices: PriceList;
}

/** The records of the media calls of one cell, beside their rows in the ledger. */
export interface MediaEvidence {
  calls: readonly MediaRecord[];
  /** The table of jobs. */
  jobs: readonly JobRow[];
  /** The models of the requests, with their prices. */
  models: MediaModels;
  /** The renders of the media backends. */
  renders: readonly Render[];
}

/** Differences in the books that a fault may cause. */
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

/** The result of a check of the books. Whole books have nothing lost, doubled or apart, and no problem. */
export interface Findings {
  lost: number;
  doubled: number;
  /** Nano-dollars: the sum of all that is apart. */
  difference: bigint;
  /** One line for each kind of mistake, with an example. */
  problems: string[];
}
