import type { Region } from '@turnpike/config/region';
import type { CellContext } from '../faults/cellContext.ts';
import type { RegionStack } from './region/openRegion.ts';

/** The books of a region, and the load that fills them. */
export type RegionContext = CellContext<RegionStack>;

/** The dependencies of a cell. */
export interface Suite {
  seed: number;
  /** Says what is being done. */
  doing(what: string): void;
  /** A figure that was measured and is worth a line. */
  note(line: string): void;
  /** Notes a problem unless `isRight`. */
  check(isRight: boolean, what: string): void;
  /**
   * Opens the books of a region for this cell. From here to its end no call may be lost or doubled, and no books may differ. The
   * books are closed and reconciled when the cell has run.
   */
  openBooks(region: Region): Promise<RegionContext>;
}

/** One thing that is tried on the running cluster. */
export interface Cell {
  name: string;
  /** The action, in a line. */
  does: string;
  /** The promise, in a line. */
  holds: string;
  run(suite: Suite): Promise<void>;
}
