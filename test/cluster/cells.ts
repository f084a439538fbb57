import type { Cell } from './cell.ts';
import { networkPolicy } from './cells/networkPolicy.ts';
import { restricted } from './cells/restricted.ts';
import { rollingUpdate } from './cells/rollingUpdate.ts';

/** Every cell there is, in the order in which they run. */
export const CELLS: readonly Cell[] = [restricted, networkPolicy, rollingUpdate];
