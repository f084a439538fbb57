import type { Breakage } from './breakUnderLoad.ts';
import type { AllowedOutcomes, CellContext } from './cellContext.ts';
import type { CallRecord } from './load/callRecord.ts';
import type { FaultStackOptions } from './stack/startFaultStack.ts';

interface CellFacts {
  /** The fault, in a line. */
  breaks: string;
  /** The promise beside the books, in a line. */
  holds: string;
  /** Which event log the stack has. */
  eventLog: FaultStackOptions['eventLog'];
  /** Settings of services that only this cell wants: it gets a stack of its own. */
  serviceSettings?: FaultStackOptions['serviceSettings'];
  /** Why it says nothing about a stack on a Redis Cluster, where it runs on one Redis alone. */
  notOnCluster?: string;
  /** Whether objects lie on an S3 server: beside `serviceSettings`, as that stack is its own too. */
  s3?: boolean;
  /** The region of its stack, where it is not `us`: beside `serviceSettings`, as that stack is its own too. */
  region?: FaultStackOptions['region'];
  /** How many processes each service has, where it is not one: beside `serviceSettings`, as that stack is its own too. */
  replicas?: number;
  /** Whether it begins on the code of the release before, and so runs only where that is named. */
  startsOnRelease?: boolean;
  /** Whether it is among the cells of a run of all that is not `--full`; always where it is not given. */
  isDrawn?: (seed: number) => boolean;
}

/** A cell that breaks the stack under load, mends it, and looks at how its calls ended. */
interface BrokenUnderLoad extends Breakage {
  /** How calls may end. */
  ends: AllowedOutcomes;
  /** Further checks of the calls. */
  also?(context: CellContext, calls: readonly CallRecord[]): void;
}

/** A cell that does anything else. */
interface Script {
  run(context: CellContext): Promise<void>;
}

/** The cells of a group, by the name they have on the command line. The books are checked after each, whatever it does. */
export type CellTable = Record<string, CellFacts & (BrokenUnderLoad | Script)>;

/** One fault and what must hold while and after it. */
export interface Cell extends CellFacts, Script {
  name: string;
  /** The group of the cell: the part that is broken, or the race that is run. */
  group: string;
}
