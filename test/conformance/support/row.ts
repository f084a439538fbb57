import { it } from '@jest/globals';
import { type RowId, rows } from '../contract/rows.ts';

/** Registers the test of one row of the contract, under the row's id and sentence. */
export function row(id: RowId, holds: () => Promise<void>): void {
  it(`${id}: ${rows[id]}`, holds);
}
