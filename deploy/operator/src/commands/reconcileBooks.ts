import type { CheckedSums } from '@turnpike/internal-api/usageLedger';
import { toUsdText } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { flag, option, seconds, workspaceId } from '../cli/fields.ts';
import { USUAL_WAIT_SECONDS } from '../stack/walletComparison.ts';
import { reconcileAccount } from './reconcileAccount.ts';

const COLUMNS = [
  { title: 'workspace' },
  { title: 'check' },
  { title: 'left', isNumber: true },
  { title: 'right', isNumber: true },
  { title: 'difference', isNumber: true },
  { title: '' },
];
const SIGNS = { equal: '\u2713', different: '\u2717', undecided: '?' };
/** Seals are verified by reading every row of the ledger. */
const TIMEOUT_MS = 30 * 60 * 1_000;

export const reconcileBooks = defineCommand({
  words: 'reconcile',
  summary:
    'add up all books anew and hold them against Redis, the prices, the account layer and the payment processor; exit code 1 unless all agree',
  input: z.object({
    workspace: option(
      'WS',
      'of one workspace, each check; of all in sum and what differs if not given',
      workspaceId.optional(),
    ),
    wait: seconds(
      `so long for credits and days on their way to the account layer, ${USUAL_WAIT_SECONDS} if not given`,
      3_600,
    ),
    seals: flag('add up the rows of sealed hours too, and hold them against the seals: reads every row'),
  }),
  async run({ workspace, wait, seals }, { services, table }) {
    const params = { workspace_id: workspace, ...(seals && { seals: 'verify' as const }) };
    const { workspaces } = await services.ledger.reconcile({ params, timeoutMs: TIMEOUT_MS });
    const totals = sumChecks(workspaces.flatMap(({ checks }) => checks));
    // Empty books agree, also those of a workspace that only a slip of the pen made.
    const isEmpty = totals.every(({ left, right }) => left === 0n && right === 0n);
    if (workspace !== undefined && isEmpty) await services.auth.getWorkspace({ params: { workspace_id: workspace } });
    const shown = workspaces.flatMap(({ workspace_id: id, checks }) =>
      checks.filter(({ verdict }) => workspace !== undefined || verdict !== 'equal').map((check) => toRow(id, check)),
    );
    const doubts = workspaces.flatMap(({ workspace_id: id, doubts: of }) => of.map((doubt) => `${id}: ${doubt}`));
    const rows = workspace === undefined ? [...shown, ...totals.map((check) => toRow('all', check))] : shown;
    const account = await reconcileAccount(services, { workspace, waitSeconds: wait });
    rows.push(...account.rows.map(([...cells]) => [...cells.slice(0, -1).map(String), SIGNS.different]));
    const agree = account.agree && doubts.length === 0 && totals.every(({ verdict }) => verdict === 'equal');
    return {
      document: {
        agree,
        workspaces: workspaces.map((found) => ({ ...found, checks: found.checks.map(toDocument) })),
        totals: totals.map(toDocument),
        account: account.document,
      },
      text: [
        table(COLUMNS, rows),
        '',
        ...doubts.map((doubt) => `  Not decided: ${doubt}.`),
        ...account.lines,
        `  Workspaces: ${workspaces.length}. ${agree ? 'All books agree.' : 'NOT all books agree.'}`,
      ].join('\n'),
      isFailure: !agree,
    };
  },
});

/** Each check over all workspaces. Its worst verdict counts: differences of two workspaces could cancel each other. */
function sumChecks(checks: CheckedSums[]): CheckedSums[] {
  const sums = new Map<string, CheckedSums>();
  for (const check of checks) {
    const sum = sums.get(check.check);
    if (!sum) sums.set(check.check, { ...check });
    else {
      sum.left += check.left;
      sum.right += check.right;
      if (sum.verdict === 'equal' || check.verdict === 'different') sum.verdict = check.verdict;
    }
  }
  return [...sums.values()];
}

function toRow(workspace: string, { check, unit, left, right, verdict }: CheckedSums): string[] {
  const cell = (value: bigint): string => (unit === 'nano_usd' ? toUsdText(value) : String(value));
  return [workspace, check, cell(left), cell(right), cell(left - right), SIGNS[verdict]];
}

const toDocument = ({ left, right, ...check }: CheckedSums): object => ({
  ...check,
  left: String(left),
  right: String(right),
  difference: String(left - right),
});
