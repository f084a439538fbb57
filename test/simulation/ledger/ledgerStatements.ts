import {
  type AskedWorkspace,
  LISTENING,
  type statements,
} from '../../../services/usage-ledger/src/database/statements.ts';
import { type LedgerTables, type RecoveryRow, type RedisServerRow, routerName, serverName } from './ledgerTables.ts';
import { change, raiseSequence, recordUsageRows } from './recordUsageRows.ts';

/** A statement on its way: what changes the tables says how to change them back. */
export interface StatementContext {
  tables: LedgerTables;
  undo: (() => void)[];
  /** The database's clock, ms since 1970. */
  nowMs: number;
  /** The timeline that the database writes. */
  timeline: number;
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

/** The answer of an absorb for one workspace. */
export type AbsorbRow = ReturnType<typeof MODELS.absorb>[number];

/** Mutants of what statements do: each is told how to run the statement as it is. */
export type StatementChanges = {
  [Name in StatementName]?: (
    run: () => ReturnType<(typeof MODELS)[Name]>,
    context: StatementContext,
    ...args: Parameters<Statements[Name]>
  ) => unknown;
};

/** The effect of each statement on the tables, and its answer: its rows, or how many rows it changed. */
const MODELS = {
  readTimeOfRecording: ({ nowMs }) => [{ now: new Date(nowMs) }],
  ensureUsagePartitions: () => 0,
  recordBatch({ tables, undo, nowMs }, { topic, partition }, { from, to }, { events, deadLetters }) {
    const name = `${topic} ${partition}`;
    if ((tables.eventOffsets.get(name) ?? 0n) !== from) return [];
    change(undo, tables.eventOffsets, name, to);
    const end = tables.deadLetters.length;
    for (const [at, { reason, payload }] of deadLetters.entries())
      tables.deadLetters.push({ id: BigInt(end + at + 1), payload, reason, recordedAt: nowMs, isReplayed: false });
    undo.push(() => tables.deadLetters.splice(end));
    return [{ recorded: BigInt(recordUsageRows(tables, events, undo)) }];
  },
  recordUsage: ({ tables, undo }, _source, events) => [{ recorded: BigInt(recordUsageRows(tables, events, undo)) }],
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
  addCredit({ tables, undo }, { creditId, workspaceId, amountNanoUsd }) {
    if (tables.credits.some((credit) => credit.creditId === creditId)) return 0;
    tables.credits.push({ creditId, workspaceId, amountNanoUsd });
    tables.postings.push({ workspaceId, keyId: undefined, wallet: amountNanoUsd });
    undo.push(() => {
      tables.credits.pop();
      tables.postings.pop();
    });
    raiseSequence(tables, workspaceId, undo);
    return 1;
  },
  readBalances({ tables }, { workspaceId, month }) {
    const keys = [...tables.keyTotals].filter(([, total]) => total.workspaceId === workspaceId);
    const keyIds = new Set(keys.map(([keyId]) => keyId));
    const hours = [...tables.hourTotals].filter(([name]) => keyIds.has(name.split(' ')[0] ?? ''));
    return [
      {
        credited: String(creditedTo(tables, workspaceId)),
        spent: String(tables.workspaceTotals.get(workspaceId) ?? 0),
        monthSpent: String(tables.monthTotals.get(`${workspaceId} ${month}`) ?? 0),
        keys: Object.fromEntries(keys.map(([keyId, { charge }]) => [keyId, String(charge)])),
        requests: String(hours.reduce((total, [, { requests }]) => total + requests, 0n)),
      },
    ];
  },
  absorb: ({ tables, timeline }, asked) =>
    asked.map((each) => ({ ...sumsOf(tables, each), timeline, caughtUpWith: tables.recovery.timeline })),
  readTime: ({ nowMs }) => [{ now: new Date(nowMs) }],
  readTimeline: ({ tables, timeline }) => [{ timeline, caughtUpWith: tables.recovery.timeline }],
  catchUp({ tables, undo, nowMs, timeline: current }, timeline, ends) {
    const was = tables.recovery.timeline;
    const isBehind = ends.some(
      ({ topic, partition, end }) => (tables.eventOffsets.get(`${topic} ${partition}`) ?? 0n) < end,
    );
    if (was === timeline || current !== timeline || isBehind) return [];
    changeRecovery(tables, undo, { timeline });
    for (const server of [...tables.redisServers.values()])
      if (server.openedAt === null) changeServer(tables, undo, server, { raisedAt: nowMs });
    return [{ was }];
  },
  hearRouter({ tables, undo, nowMs }, { routerId, shard, redisId, putBackMark }) {
    const row = { routerId, shard, heardAt: nowMs, redisId, putBackMark };
    change(undo, tables.routers, routerName(row), row);
    const silentMs = nowMs - tables.recovery.heardAt;
    if (silentMs > LISTENING.notedEveryMs) {
      const listeningSince = silentMs > LISTENING.longestGapMs ? nowMs : tables.recovery.listeningSince;
      changeRecovery(tables, undo, { heardAt: nowMs, listeningSince });
    }
    const server = tables.redisServers.get(serverName({ shard, redisId: redisId ?? '' }));
    if (!server) return [];
    if (nowMs - server.seenAt > LISTENING.seenEveryMs) changeServer(tables, undo, server, { seenAt: nowMs });
    return [{ mark: server.mark, isOpen: server.openedAt !== null }];
  },
  lockRecovery: () => [],
  readRecovery({ tables, nowMs, timeline }, shard) {
    const { listeningSince } = tables.recovery;
    const heard = [...tables.routers.values()].filter(
      ({ heardAt }) => nowMs - Math.max(heardAt, listeningSince) <= LISTENING.longestSilenceMs,
    );
    return [
      {
        routers: [...new Set(heard.map(({ routerId }) => routerId))].sort().map((routerId) => {
          const own = heard.find((row) => row.routerId === routerId && row.shard === shard);
          return { routerId, redisId: own?.redisId ?? null, putBackMark: own?.putBackMark ?? null };
        }),
        servers: [...tables.redisServers.values()]
          .filter((server) => server.shard === shard)
          .map(({ redisId, mark, openedAt, raisedAt }) => ({
            shard,
            redisId,
            mark,
            isOpen: openedAt !== null,
            raisedMsAgo: nowMs - raisedAt,
          }))
          .sort((a, b) => (a.redisId < b.redisId ? -1 : 1)),
        hasBalances: tables.recovery.timeline === timeline,
      },
    ];
  },
  takeRedis({ tables, undo, nowMs }, served) {
    if (tables.redisServers.has(serverName(served))) return 0;
    const times = { raisedAt: nowMs, openedAt: null, seenAt: nowMs };
    change(undo, tables.redisServers, serverName(served), { ...served, mark: aMark(tables), ...times });
    return 1;
  },
  raiseMark({ tables, undo, nowMs }, { mark, ...served }) {
    const server = tables.redisServers.get(serverName(served));
    if (server?.mark !== mark) return 0;
    const isUsed =
      server.openedAt !== null || [...tables.routers.values()].some(({ putBackMark }) => putBackMark === mark);
    const raisedAt = isUsed ? nowMs : server.raisedAt;
    changeServer(tables, undo, server, { mark: aMark(tables), raisedAt, openedAt: null });
    return 1;
  },
  raisedAgo({ tables, undo, nowMs }, served, ms) {
    const server = tables.redisServers.get(serverName(served));
    if (!server) return 0;
    changeServer(tables, undo, server, { raisedAt: nowMs - ms });
    return 1;
  },
  othersRaisedAgoAtMost({ tables, undo, nowMs }, { shard, redisId }, ms) {
    const others = [...tables.redisServers.values()].filter(
      (other) => other.shard === shard && other.redisId !== redisId && other.openedAt === null,
    );
    for (const other of others) changeServer(tables, undo, other, { raisedAt: Math.max(other.raisedAt, nowMs - ms) });
    return others.length;
  },
  openRedis({ tables, undo, nowMs }, { mark, ...served }) {
    const server = tables.redisServers.get(serverName(served));
    if (!server || server.mark !== mark || server.openedAt !== null) return 0;
    const others = [...tables.redisServers.values()].filter(
      ({ shard, redisId, openedAt }) => (shard === served.shard) !== (redisId === served.redisId) && openedAt !== null,
    );
    for (const other of others)
      changeServer(tables, undo, other, { mark: aMark(tables), raisedAt: nowMs, openedAt: null });
    changeServer(tables, undo, server, { openedAt: nowMs });
    return others.length;
  },
  appendToLog({ tables, undo }, topic, records) {
    const log = tables.logs.get(topic) ?? [];
    tables.logs.set(topic, log);
    const end = log.length;
    for (const [at, record] of records.entries()) log.push({ offset: BigInt(end + at), ...record });
    undo.push(() => log.splice(end));
    return [];
  },
  readPosition({ tables }, { topic, partition }) {
    const nextOffset = tables.eventOffsets.get(`${topic} ${partition}`);
    return nextOffset === undefined ? [] : [{ nextOffset }];
  },
  readLogEnd: ({ tables }, topic) => [{ end: BigInt(tables.logs.get(topic)?.length ?? 0) }],
  readLog({ tables }, topic, fromOffset, limit) {
    const from = Number(fromOffset);
    const records = tables.logs.get(topic)?.slice(from, from + limit) ?? [];
    return records.map(({ value, ...record }) => ({ ...record, value: escapeBytes(Buffer.from(value)) }));
  },
} satisfies Models;

/** Returns Postgres' `encode(…, 'escape')` of bytes. */
const escapeBytes = (bytes: Buffer): string =>
  bytes.every((byte) => byte > 0 && byte < 0x80 && byte !== 0x5c) ? bytes.toString('latin1') : escapeEach(bytes);

/** The same, byte by byte. */
const escapeEach = (bytes: Buffer): string =>
  [...bytes]
    .map((byte) => {
      if (byte === 0x5c) return '\\\\';
      return byte === 0 || byte > 0x7f ? `\\${byte.toString(8).padStart(3, '0')}` : String.fromCharCode(byte);
    })
    .join('');

/** Finds a call id as the column `call_id` of `dead_letter` does. */
const CALL_ID = /"callId"\s*:\s*"([0-9a-f-]{36})"/i;

const creditedTo = ({ credits }: LedgerTables, workspaceId: string): bigint =>
  credits
    .filter((credit) => credit.workspaceId === workspaceId)
    .reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);

function sumsOf(tables: LedgerTables, { workspaceId, month, keyIds, since = {}, callIds }: AskedWorkspace) {
  const recorded = [...new Set(callIds)]
    .map((callId) => tables.usageRequests.get(callId.toLowerCase()))
    .filter((row) => row !== undefined)
    .filter((row) => row.workspaceId === workspaceId);
  const monthNames = [...tables.monthTotals.keys()]
    .map((name) => name.split(' '))
    .filter(([ofWorkspace, name = '']) => ofWorkspace === workspaceId && name > month)
    .map(([, name = '']) => name);
  const recordedMonths = recorded.map(({ startedAtMs }) => new Date(startedAtMs).toISOString().slice(0, 7));
  const spentByKey = (keyId: string): bigint => {
    const total = tables.keyTotals.get(keyId);
    return total?.workspaceId === workspaceId ? total.charge : 0n;
  };
  const spentSince = (keyId: string, beginMs: number): bigint =>
    [...tables.usageRequests.values()]
      .filter((row) => row.keyId === keyId && row.workspaceId === workspaceId && row.startedAtMs >= beginMs)
      .reduce((sum, { chargeNanoUsd }) => sum + chargeNanoUsd, 0n);
  const idsOf = (isWanted: (status: string) => boolean): string[] =>
    recorded.filter(({ status }) => isWanted(status)).map(({ callId }) => callId);
  return {
    workspaceId,
    seq: String(tables.sequences.get(workspaceId) ?? 0),
    left: String(creditedTo(tables, workspaceId) - (tables.workspaceTotals.get(workspaceId) ?? 0n)),
    months: Object.fromEntries(
      [month, ...monthNames, ...recordedMonths].map((name) => [
        name,
        String(tables.monthTotals.get(`${workspaceId} ${name}`) ?? 0),
      ]),
    ),
    keys: Object.fromEntries(
      [...keyIds, ...recorded.map(({ keyId }) => keyId)].map((keyId) => [keyId, String(spentByKey(keyId))]),
    ),
    since: Object.fromEntries(
      Object.entries(since).map(([keyId, day]) => [keyId, { day, spent: String(spentSince(keyId, Date.parse(day))) }]),
    ),
    final: idsOf((status) => status !== 'unknown'),
    unknown: idsOf((status) => status === 'unknown'),
    deadLetters: tables.deadLetters.flatMap(({ payload, isReplayed }) => {
      const callId = CALL_ID.exec(payload.toString('latin1'))?.[1]?.toLowerCase() ?? '';
      return !isReplayed && callIds.includes(callId) ? [callId] : [];
    }),
  };
}

function changeRecovery(tables: LedgerTables, undo: (() => void)[], fields: Partial<RecoveryRow>): void {
  const before = tables.recovery;
  undo.push(() => {
    tables.recovery = before;
  });
  tables.recovery = { ...before, ...fields };
}

const changeServer = (
  { redisServers }: LedgerTables,
  undo: (() => void)[],
  server: RedisServerRow,
  fields: Partial<RedisServerRow>,
): void => change(undo, redisServers, serverName(server), { ...server, ...fields });

/** A UUID that nobody was given before. */
function aMark(tables: LedgerTables): string {
  tables.marks += 1;
  return `00000000-0000-4000-8000-${tables.marks.toString(16).padStart(12, '0')}`;
}

/** Throws for a statement that has no name in the ledger's `statements`, or a name without a model. */
export function runStatement(
  context: StatementContext,
  { name, args }: NamedStatement,
  changes: StatementChanges = {},
): unknown {
  if (!Object.hasOwn(MODELS, name)) throw new Error(`the simulation has no model of this statement: ${name}`);
  const model = MODELS[name as StatementName] as (context: StatementContext, ...args: unknown[]) => unknown;
  const change = changes[name as StatementName] as
    | ((run: () => unknown, context: StatementContext, ...args: unknown[]) => unknown)
    | undefined;
  return change ? change(() => model(context, ...args), context, ...args) : model(context, ...args);
}

/** Models of the ledger's queries through Prisma's models, by table and operation. */
export const MODEL_QUERIES: Record<string, Record<string, (context: StatementContext, query: never) => unknown>> = {
  router: {
    deleteMany({ tables, undo }, { where: { routerId } }: { where: { routerId: string } }) {
      for (const [name, router] of [...tables.routers]) {
        if (router.routerId !== routerId) continue;
        undo.push(() => tables.routers.set(name, router));
        tables.routers.delete(name);
      }
    },
  },
  credit: {
    findUniqueOrThrow({ tables }, { where }: { where: { creditId: string } }) {
      const known = tables.credits.find(({ creditId }) => creditId === where.creditId);
      if (!known) throw new Error('no such credit');
      return { ...known };
    },
  },
};
