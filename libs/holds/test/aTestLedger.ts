import { json } from 'node:stream/consumers';
import { serveHttp } from '@turnpike/test-support/serveHttp';

/** The ledger's sums of a workspace. */
export interface LedgerBooks {
  seq: number;
  leftNanoUsd: bigint;
  months: Record<string, bigint>;
  keys: Record<string, bigint>;
  /** Spend of each key since whichever day is asked for. */
  since: Record<string, bigint>;
  /** Ids of the calls that are recorded. */
  final: string[];
  unknown: string[];
  /** Ids of the calls that lie as dead letters. */
  deadLetters: string[];
}

interface Asked {
  workspace_id: string;
  month: string;
  keys: string[];
  since: Record<string, string>;
  calls: string[];
}

/** A ledger that answers `absorb` from books which a test writes. */
export interface TestLedger {
  url: string;
  timeline: number;
  /** Every workspace that was asked about, question by question. */
  asked: Asked[][];
  /** Answers with this status instead. */
  fails: number | undefined;
  /** Awaited before each answer is sent. */
  delivery: Promise<void>;
  /** Returns the books of a workspace, which are empty at first. */
  booksOf(workspaceId: string): LedgerBooks;
  close(): Promise<void>;
}

const toTexts = (amounts: Record<string, bigint>): Record<string, string> =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, amount.toString()]));

export async function aTestLedger(): Promise<TestLedger> {
  const all = new Map<string, LedgerBooks>();
  const server = await serveHttp(async (req, res) => {
    const { workspaces } = (await json(req)) as { workspaces: Asked[] };
    ledger.asked.push(workspaces);
    const { timeline, fails, delivery } = ledger;
    const answers = workspaces.map(({ workspace_id, calls, keys: asked, since: days }) => {
      const { seq, leftNanoUsd, months, keys, since, final, unknown, deadLetters } = ledger.booksOf(workspace_id);
      return {
        workspace_id,
        seq,
        left_nano_usd: leftNanoUsd.toString(),
        months: toTexts(months),
        keys: { ...Object.fromEntries(asked.map((keyId) => [keyId, '0'])), ...toTexts(keys) },
        since: Object.fromEntries(
          Object.entries(days).map(([keyId, day]) => [keyId, { day, spent_nano_usd: String(since[keyId] ?? 0n) }]),
        ),
        final: calls.filter((callId) => final.includes(callId)),
        unknown: calls.filter((callId) => unknown.includes(callId)),
        dead_letters: calls.filter((callId) => deadLetters.includes(callId)),
      };
    });
    await delivery;
    res.writeHead(fails ?? 200).end(JSON.stringify(fails === undefined ? { timeline, workspaces: answers } : {}));
  });
  const ledger: TestLedger = {
    url: server.url,
    timeline: 1,
    asked: [],
    fails: undefined,
    delivery: Promise.resolve(),
    booksOf(workspaceId) {
      const known = all.get(workspaceId);
      if (known) return known;
      const books = {
        seq: 0,
        leftNanoUsd: 0n,
        months: {},
        keys: {},
        since: {},
        final: [],
        unknown: [],
        deadLetters: [],
      };
      all.set(workspaceId, books);
      return books;
    },
    close: () => server.close(),
  };
  return ledger;
}
