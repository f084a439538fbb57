import type { Cell } from '../cell.ts';

/** The outcome of one cell. */
export interface CellResult {
  cell: Cell;
  seed: number;
  calls: number;
  lost: number;
  doubled: number;
  difference: bigint;
  recoveryMs: number | undefined;
  /** From the last call's end until the books were whole. */
  closedMs: number | undefined;
  tookMs: number;
  /** None: the cell passed, unless it is not tested. */
  problems: string[];
  /** Requirement of the fault that this machine lacks; undefined if the cell ran. */
  notTested: string | undefined;
  /** Measurements. */
  notes: string[];
  /** The folder of the stack's logs, if it failed. */
  logs: string | undefined;
}
