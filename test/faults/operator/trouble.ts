import type { CellContext } from '../cellContext.ts';
import type { Fault } from '../fault.ts';

/** One way in which a part is in trouble, and how an operator hears of it. */
export interface Trouble {
  fault: Fault;
  /** The service in whose line `turnpike status` names the cause, and the words there. */
  named: readonly [service: string, words: string];
  /** The exit code of `turnpike status`: 1 where something does not work, 3 where all works and something wants a look. */
  code: 1 | 3;
  alert: string;
}

/** A part of a region or of the account layer, in each kind of trouble. A text says why there is no trouble of a kind. */
export interface TroubledPart {
  part: string;
  /** Brings the part into a state in which its trouble can be made. */
  prepare?: (context: CellContext) => Promise<void>;
  dead: Trouble | string;
  hung: Trouble | string;
  full: Trouble | string;
}

export const KINDS = ['dead', 'hung', 'full'] as const;

/** The rows as a table of Markdown, as the operators' page has them. */
export function formatTroubles(rows: readonly TroubledPart[]): string {
  const toCell = (trouble: Trouble | string): string => {
    if (typeof trouble === 'string') return `– (${trouble})`;
    const { named, code, alert } = trouble;
    return `\`${named.join(': ')}\`, ${code}, [${alert}](alerts.md#${alert.toLowerCase()})`;
  };
  const lines = rows.map(({ part, ...kinds }) => [part, ...KINDS.map((kind) => toCell(kinds[kind]))]);
  return [['part', ...KINDS], ['---', '---', '---', '---'], ...lines]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}
