import type { statements } from '../../../services/usage-ledger/src/database/statements.ts';
import type { Router } from '../../../services/usage-ledger/src/epoch/advanceEpoch.ts';
import type { LedgerTables } from './ledgerTables.ts';
import { change, recordUsageRows } from './recordUsageRows.ts';

/** A statement on its way: what changes the tables says how to change them back. */
export interface StatementContext {
  tables: LedgerTables;
  undo: (() => void)[];
  /** The database's clock, ms since 1970. */
  nowMs: number;
}

type Statements = typeof statements;
export type StatementName = keyof Statements;

/** A statement as the ledger's code hands it over. */
export interface NamedStatement {
  name: string;
  args: unknown[];
}

type Models = {
  [Name in StatementName]: (context: StatementContext, ...args: Parameters<Statements[Name]>) => unknown;
};

/** What each statement does to the tables and answers: its rows, or how many rows it changed. */
const MODELS: Models = {
  ensureUsagePartitions: () => 0,
  beginOffset: () => 0,
  moveOffset({ tables, undo }, { topic, partition }, { from, to }) {
    const name = `${topic} ${partition}`;
    if ((tables.eventOffsets.get(name) ?? 0n) !== from) return 0;
    change(undo, tables.eventOffsets, name, to);
    return 1;
  },
  recordUsage: ({ tables, undo }, _source, events) => [{ recorded: BigInt(recordUsageRows(tables, events, undo)) }],
  recordDeadLetters({ tables, undo, nowMs }, _place, letters) {
    const end = tables.deadLetters.length;
    for (const [at, { reason, payload }] of letters.entries())
      tables.deadLetters.push({ id: BigInt(end + at + 1), payload, reason, recordedAt: nowMs, isReplayed: false });
    undo.push(() => tables.deadLetters.splice(end));
    return letters.length;
  },
  readDeadLetter: ({ tables }, id) => tables.deadLetters.filter((letter) => letter.id === id && !letter.isReplayed),
  markReplayed({ tables, undo }, id) {
    const letter = tables.deadLetters.find((each) => each.id === id && !each.isReplayed);
    if (!letter) return 0;
    letter.isReplayed = true;
    undo.push(() => {
      letter.isReplayed = false;
    });
    return 1;
  },
  keepReason({ tables, undo }, id, reason) {
    const letter = tables.deadLetters.find((each) => each.id === id && !each.isReplayed);
    if (!letter) return 0;
    const before = letter.reason;
    letter.reason = reason;
    undo.push(() => {
      letter.reason = before;
    });
    return 1;
  },
  lockCredits: () => 0,
  addCredit({ tables, undo }, { creditId, workspaceId, amountNanoUsd }) {
    if (tables.credits.some((credit) => credit.creditId === creditId)) return 0;
    tables.credits.push({ seq: BigInt(tables.credits.length + 1), creditId, workspaceId, amountNanoUsd });
    tables.postings.push({ workspaceId, keyId: undefined, wallet: amountNanoUsd });
    undo.push(() => {
      tables.credits.pop();
      tables.postings.pop();
    });
    return 1;
  },
  readBalances({ tables }, { workspaceId, month, callIds }) {
    const credits = tables.credits.filter((credit) => credit.workspaceId === workspaceId);
    const keys = [...tables.keyTotals].filter(([, total]) => total.workspaceId === workspaceId);
    const keyIds = new Set(keys.map(([keyId]) => keyId));
    const hours = [...tables.hourTotals].filter(([name]) => keyIds.has(name.split(' ')[0] ?? ''));
    const sum = (amounts: bigint[]): string => String(amounts.reduce((total, amount) => total + amount, 0n));
    return [
      {
        creditSeq: String(credits.at(-1)?.seq ?? 0),
        credited: sum(credits.map(({ amountNanoUsd }) => amountNanoUsd)),
        spent: String(tables.workspaceTotals.get(workspaceId) ?? 0),
        months: Object.fromEntries(
          [...tables.monthTotals]
            .map(([name, spent]) => [...name.split(' '), String(spent)])
            .filter(([ofWorkspace, name = '']) => ofWorkspace === workspaceId && name >= month)
            .map(([, name, spent]) => [name, spent]),
        ),
        keys: Object.fromEntries(keys.map(([keyId, { charge }]) => [keyId, String(charge)])),
        requests: sum(hours.map(([, { requests }]) => requests)),
        recorded: callIds.filter((callId) => tables.usageRequests.get(callId)?.workspaceId === workspaceId),
      },
    ];
  },
  hearRouter({ tables, undo, nowMs }, longestGapSeconds) {
    const before = tables.epoch;
    undo.push(() => {
      tables.epoch = before;
    });
    const isGap = nowMs - before.heardAt > longestGapSeconds * 1_000;
    tables.epoch = { ...before, heardAt: nowMs, listeningSince: isGap ? nowMs : before.listeningSince };
    const { heardAt, listeningSince, balancesSince, ...epoch } = tables.epoch;
    return [{ ...epoch, listeningSince: new Date(listeningSince), now: new Date(heardAt) }];
  },
  lockEpoch: () => [],
  wantRebuild({ tables, undo, nowMs }, id) {
    const before = tables.epoch;
    const letter = tables.deadLetters.find((each) => each.id === id);
    const isOlder = letter !== undefined && before.balancesSince > letter.recordedAt;
    if (before.phase !== 'asserting' && !(before.phase === 'open' && isOlder)) return 0;
    undo.push(() => {
      tables.epoch = before;
    });
    const now = new Date(nowMs);
    tables.epoch = { ...before, rebuildWantedSince: before.rebuildWantedSince ?? now, rebuildWantedAt: now };
    return 1;
  },
  lockLog: () => 0,
  appendToLog({ tables, undo }, topic, records) {
    const log = tables.logs.get(topic) ?? [];
    tables.logs.set(topic, log);
    const end = log.length;
    for (const [at, record] of records.entries()) log.push({ offset: BigInt(end + at), ...record });
    undo.push(() => log.splice(end));
    return records.length;
  },
};

/** Throws for a statement that has no name in the ledger's `statements`, or a name without a model. */
export function runStatement(context: StatementContext, { name, args }: NamedStatement): unknown {
  if (!Object.hasOwn(MODELS, name)) throw new Error(`the simulation has no model of this statement: ${name}`);
  const model = MODELS[name as StatementName] as (context: StatementContext, ...args: unknown[]) => unknown;
  return model(context, ...args);
}

interface RouterIds {
  routerId: string | { in: string[] };
}
const idsOf = ({ routerId }: RouterIds): string[] => (typeof routerId === 'string' ? [routerId] : routerId.in);

/** What the ledger asks of its database through Prisma's models, by table and operation. */
export const MODEL_QUERIES: Record<string, Record<string, (context: StatementContext, query: never) => unknown>> = {
  router: {
    findMany: ({ tables }) => [...tables.routers.values()].map((router) => ({ ...router })),
    upsert({ tables, undo }, { create }: { create: Router }) {
      change(undo, tables.routers, create.routerId, { ...create });
    },
    updateMany({ tables, undo }, { where, data }: { where: RouterIds; data: Partial<Router> }) {
      for (const routerId of idsOf(where)) {
        const router = tables.routers.get(routerId);
        if (router) change(undo, tables.routers, routerId, { ...router, ...data });
      }
    },
    deleteMany({ tables, undo }, { where }: { where: RouterIds }) {
      for (const routerId of idsOf(where)) {
        const router = tables.routers.get(routerId);
        if (router) undo.push(() => tables.routers.set(routerId, router));
        tables.routers.delete(routerId);
      }
    },
  },
  redisEpoch: {
    findFirstOrThrow: ({ tables }) => ({ ...tables.epoch }),
    updateMany({ tables, undo, nowMs }, { data }: { data: Partial<LedgerTables['epoch']> }) {
      const before = tables.epoch;
      undo.push(() => {
        tables.epoch = before;
      });
      tables.epoch = { ...before, ...data };
      // As the trigger `begin_balances` does.
      if (tables.epoch.phase === 'asserting' && before.phase !== 'asserting')
        Object.assign(tables.epoch, { balancesSince: nowMs, rebuildWantedSince: null, rebuildWantedAt: null });
    },
  },
  credit: {
    findUniqueOrThrow({ tables }, { where }: { where: { creditId: string } }) {
      const known = tables.credits.find(({ creditId }) => creditId === where.creditId);
      if (!known) throw new Error('no such credit');
      return { ...known };
    },
  },
  eventOffset: {
    findUnique(
      { tables },
      { where: { topic_partition: place } }: { where: { topic_partition: { topic: string; partition: number } } },
    ) {
      const nextOffset = tables.eventOffsets.get(`${place.topic} ${place.partition}`);
      return nextOffset === undefined ? null : { nextOffset };
    },
  },
  eventLogRecord: {
    findMany({ tables }, { where, take }: { where: { topic: string; offset: { gte: bigint } }; take: number }) {
      const from = Number(where.offset.gte);
      const records = tables.logs.get(where.topic)?.slice(from, from + take) ?? [];
      return records.map(({ offset, key, value }) => ({ offset, key, value: Buffer.from(value) }));
    },
    aggregate({ tables }, { where }: { where: { topic: string } }) {
      return { _max: { offset: tables.logs.get(where.topic)?.at(-1)?.offset ?? null } };
    },
  },
};
