import type { Router } from '../../../services/usage-ledger/src/epoch/advanceEpoch.ts';
import type { LedgerTables, UsageRow } from './ledgerTables.ts';
import { change, recordUsageRows } from './recordUsageRows.ts';

/** A statement on its way: what changes the tables says how to change them back. */
export interface StatementContext {
  tables: LedgerTables;
  undo: (() => void)[];
  /** The database's clock, ms since 1970. */
  nowMs: number;
}

type Statement = (context: StatementContext, values: unknown[]) => unknown;

/** The statements of the ledger that are written as SQL, by words that only they have. */
const STATEMENTS: [RegExp, Statement][] = [
  [/SELECT record_usage\(/, recordUsage],
  [/UPDATE redis_epoch SET heard_at/, openBooks],
  [/SELECT ensure_usage_partition/, () => 0],
  [/pg_advisory_xact_lock/, () => 0],
  [/INSERT INTO event_offset/, () => 0],
  [/UPDATE event_offset SET next_offset/, moveOffset],
  [/INSERT INTO dead_letter/, recordDeadLetters],
  [/AS payload\s+FROM dead_letter/, readDeadLetter],
  [/UPDATE dead_letter SET replayed_at/, settleDeadLetter],
  [/FROM redis_epoch FOR UPDATE/, () => []],
  [/SET rebuild_wanted_since = coalesce/, wantRebuild],
  [/INSERT INTO event_log_record/, appendToLog],
  [/INSERT INTO credit/, addCredit],
  [/AS "creditSeq"/, readBalances],
];

export function runStatement(context: StatementContext, strings: readonly string[], values: unknown[]): unknown {
  const sql = strings.join('?');
  const known = STATEMENTS.find(([words]) => words.test(sql));
  if (!known) throw new Error(`this statement is not known here: ${sql.trim().slice(0, 80)}`);
  return known[1](context, values);
}

function recordUsage({ tables, undo }: StatementContext, [, calls]: unknown[]): unknown {
  const rows = (JSON.parse(String(calls)) as Record<string, never>[]).map(
    (call): UsageRow => ({
      callId: call.call_id ?? '',
      keyId: call.key_id ?? '',
      workspaceId: call.workspace_id ?? '',
      canonicalModel: call.canonical_model ?? '',
      modality: call.modality ?? 'text',
      status: call.status ?? 'unknown',
      reason: call.reason ?? null,
      promptTokens: Number(call.prompt_tokens),
      cachedPromptTokens: Number(call.cached_prompt_tokens),
      completionTokens: Number(call.completion_tokens),
      chargeNanoUsd: BigInt(call.charge_nano_usd ?? 0),
      holdNanoUsd: BigInt(call.hold_nano_usd ?? 0),
      startedAtMs: Date.parse(call.started_at ?? ''),
    }),
  );
  return [{ recorded: BigInt(recordUsageRows(tables, rows, undo)) }];
}

function openBooks({ tables, undo, nowMs }: StatementContext, [longestGapSeconds]: unknown[]): unknown {
  const before = tables.epoch;
  undo.push(() => {
    tables.epoch = before;
  });
  const isGap = nowMs - before.heardAt > Number(longestGapSeconds) * 1_000;
  tables.epoch = { ...before, heardAt: nowMs, listeningSince: isGap ? nowMs : before.listeningSince };
  const { heardAt, listeningSince, balancesSince, ...epoch } = tables.epoch;
  return [{ ...epoch, listeningSince: new Date(listeningSince), now: new Date(heardAt) }];
}

function moveOffset({ tables, undo }: StatementContext, [next, topic, partition, from]: unknown[]): unknown {
  const name = `${topic} ${partition}`;
  if ((tables.eventOffsets.get(name) ?? 0n) !== from) return 0;
  change(undo, tables.eventOffsets, name, next as bigint);
  return 1;
}

function recordDeadLetters({ tables, undo, nowMs }: StatementContext, [, , , reasons, payloads]: unknown[]): unknown {
  const end = tables.deadLetters.length;
  for (const [at, reason] of (reasons as string[]).entries())
    tables.deadLetters.push({
      id: BigInt(end + at + 1),
      payload: Buffer.from((payloads as string[])[at] ?? '', 'base64'),
      reason,
      recordedAt: nowMs,
      isReplayed: false,
    });
  undo.push(() => tables.deadLetters.splice(end));
  return tables.deadLetters.length - end;
}

function readDeadLetter({ tables }: StatementContext, [, id]: unknown[]): unknown {
  return tables.deadLetters.filter((letter) => letter.id === id && !letter.isReplayed);
}

function settleDeadLetter({ tables, undo }: StatementContext, [, id]: unknown[]): unknown {
  const letter = tables.deadLetters.find((each) => each.id === id && !each.isReplayed);
  if (!letter) return 0;
  letter.isReplayed = true;
  undo.push(() => {
    letter.isReplayed = false;
  });
  return 1;
}

function wantRebuild({ tables, undo, nowMs }: StatementContext, [id]: unknown[]): unknown {
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
}

function appendToLog({ tables, undo }: StatementContext, values: unknown[]): unknown {
  const topic = String(values[0]);
  const [keys = [], texts = []] = values.filter(Array.isArray) as string[][];
  const log = tables.logs.get(topic) ?? [];
  tables.logs.set(topic, log);
  const end = log.length;
  for (const [at, key] of keys.entries())
    log.push({ offset: BigInt(end + at), key, value: Buffer.from(texts[at] ?? '', 'base64').toString() });
  undo.push(() => log.splice(end));
  return keys.length;
}

function addCredit({ tables, undo }: StatementContext, [creditId, workspaceId, amountNanoUsd]: unknown[]): unknown {
  if (tables.credits.some((credit) => credit.creditId === creditId)) return 0;
  const credit = {
    seq: BigInt(tables.credits.length + 1),
    creditId: String(creditId),
    workspaceId: String(workspaceId),
  };
  tables.credits.push({ ...credit, amountNanoUsd: amountNanoUsd as bigint });
  tables.postings.push({ workspaceId: credit.workspaceId, keyId: undefined, wallet: amountNanoUsd as bigint });
  undo.push(() => {
    tables.credits.pop();
    tables.postings.pop();
  });
  return 1;
}

function readBalances({ tables }: StatementContext, values: unknown[]): unknown {
  const workspaceId = String(values[0]);
  const month = String(values.find((value) => /^\d{4}-\d\d-01$/.test(String(value)))).slice(0, 7);
  const [callIds = []] = values.filter(Array.isArray) as string[][];
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
