import type { CellTable } from '../cell.ts';
import { PRELOADED } from '../disk/troubleDisk.ts';
import { hearOfTroubles } from '../operator/hearOf.ts';
import { ROWS } from '../operator/parts.ts';

const HOLDS =
  'status ends within 5 s, names the cause as docs/operations.md has it, and is not 0; the alert fires; all is well after the repair';

/** Cells `operator-<part>`: the part dead, hung and full, and how an operator hears of it. */
export const operator: CellTable = Object.fromEntries(
  Object.entries(ROWS).map(([name, row]) => [
    `operator-${name}`,
    {
      breaks: `${row.part}: dead, hung and full, as far as there is that`,
      holds: HOLDS,
      eventLog: name === 'log' ? 'kafka' : 'embedded',
      ...(name === 'objects' && { s3: true, serviceSettings: {} }),
      ...(name === 'disk' && { serviceSettings: PRELOADED }),
      run: (context) => hearOfTroubles(context, row),
    } satisfies CellTable[string],
  ]),
);
