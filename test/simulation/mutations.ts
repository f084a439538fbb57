import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { TAG } from '@turnpike/holds/test/aShard';
import type { AbsorbRow, StatementChanges, StatementContext } from './ledger/ledgerStatements.ts';
import { serverName } from './ledger/ledgerTables.ts';
import type { RouterParts } from './router/simulatedRouter.ts';
import type { SourceChange } from './stand-ins/registerStandIns.ts';
import type { CheckName } from './world/violation.ts';

/** A change of the protocol that must not go unnoticed. */
export interface Mutation {
  /** The checks that notice it; what others find does not count. */
  noticedBy: CheckName[];
  /** Makes a mutant of a script's source. */
  script?: (name: string, source: string) => string;
  router?: (parts: RouterParts) => RouterParts;
  /** Makes mutants of what the ledger's statements do. */
  statements?: StatementChanges;
  /** Makes a mutant of the code of a service. */
  source?: SourceChange;
  /** The ledger's database goes on under its number when its server is started again. */
  isBlindToRestarts?: boolean;
  /** Names of faults that happen for certain, where chance alone would seldom bring about what the change breaks. */
  faults?: string[];
  /** The lease of every seed: a short one where the change shows once one has lapsed. */
  leaseMs?: number;
  /** The longest call of every seed: one that outlasts its session where the change shows in what became of its hold. */
  longestCallMs?: number;
  /** The part that breaks for good in every seed. */
  breaks?: string;
  /** The first seed that notices it, where that takes many; the search begins there. */
  seed?: number;
}

/** In one script, one text for another; throws where the script has changed so that there is nothing to change any more. */
const inScript =
  (script: string, from: string, to: string): NonNullable<Mutation['script']> =>
  (name, source) => {
    if (name !== script) return source;
    if (!source.includes(from)) throw new Error(`${script}.lua has no “${from}” to mutate`);
    return source.replace(from, to);
  };

const inScripts =
  (...changes: NonNullable<Mutation['script']>[]): NonNullable<Mutation['script']> =>
  (name, source) =>
    changes.reduce((changed, change) => change(name, changed), source);

const aWhile = (mostMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.random() * mostMs));

/** Delays scripts of Redis that may come late anyway, so that a change shows in few seeds. */
const withLate =
  (script: string, mostMs: number, mayBeLate = (_: RouterParts) => true): NonNullable<Mutation['router']> =>
  (parts) => {
    const { redis } = parts;
    const define = redis.defineCommand.bind(redis);
    redis.defineCommand = (name, definition) => {
      define(name, definition);
      if (name !== script) return;
      const run = Reflect.get(redis, name) as (...args: unknown[]) => Promise<unknown>;
      Reflect.set(redis, name, async (...args: unknown[]) => {
        if (mayBeLate(parts)) await aWhile(mostMs);
        return run.apply(redis, args);
      });
    };
    return parts;
  };

/** Put-backs of all calls have other workspaces in front of them: there is no session meanwhile. */
const withLongPutBacks = withLate('putBack', 1_500, ({ sessionState }) => sessionState.session === undefined);

const withBoth =
  (...changes: NonNullable<Mutation['router']>[]): NonNullable<Mutation['router']> =>
  (parts) =>
    changes.reduce((changed, change) => change(changed), parts);

/** The client's deadline for a command. */
const DEADLINE_MS = 250;

/** A share of the runs of a script miss their deadline, and arrive after commands that were sent later. */
const withStrays =
  (script: string, share: number, mostMs: number): NonNullable<Mutation['router']> =>
  (parts) => {
    const { redis } = parts;
    const define = redis.defineCommand.bind(redis);
    redis.defineCommand = (name, definition) => {
      define(name, definition);
      if (name !== script) return;
      const run = Reflect.get(redis, name) as (...args: unknown[]) => Promise<unknown>;
      Reflect.set(redis, name, async (...args: unknown[]) => {
        if (Math.random() >= share) return run.apply(redis, args);
        void aWhile(mostMs)
          .then(() => run.apply(redis, args))
          .catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, DEADLINE_MS));
        throw new Error('Command timed out');
      });
    };
    return parts;
  };

/** An absorb whose row of a workspace has some fields as they were when it was asked about before. */
function withSumsOfBefore(pick: (row: AbsorbRow) => Partial<AbsorbRow>): NonNullable<StatementChanges['absorb']> {
  return (run, { tables }) =>
    run().map((row) => {
      const before = lastSums.get(tables)?.get(row.workspaceId);
      const last = lastSums.get(tables) ?? new Map<string, AbsorbRow>();
      lastSums.set(tables, last.set(row.workspaceId, row));
      return { ...row, ...(before && pick(before)) };
    });
}
const lastSums = new WeakMap<object, Map<string, AbsorbRow>>();

/** A mutant of how calls are recorded, of a batch that is in its place and of a dead letter. */
const recording = (
  change: (run: () => unknown, context: StatementContext, events: UsageRecorded[]) => unknown,
): StatementChanges => ({
  recordUsage: (run, context, _source, events) => change(run, context, events),
  recordBatch: (run, context, { topic, partition }, { from }, { events }) =>
    (context.tables.eventOffsets.get(`${topic} ${partition}`) ?? 0n) === from ? change(run, context, events) : run(),
});

/** Each is the removal of one thing that the protocol stands on. */
export const MUTATIONS: Record<string, Mutation> = {
  'settling a call charges it again when it was settled before': {
    seed: 97,
    noticedBy: ['pending'],
    script: inScript(
      'settle',
      "if call[1] ~= 'held' then return",
      "if not call[1] or call[1] == 'released' then return",
    ),
  },
  'settling keeps the hold': {
    noticedBy: ['pending'],
    script: inScript('settle', "take('held', call[2], call[3], call[4])", ''),
  },
  'a released admission keeps its hold': {
    seed: 97,
    noticedBy: ['pending'],
    script: inScript('release', "take('held', call[2], call[3], call[4])", ''),
  },
  'a released admission may come after all': {
    seed: 753,
    noticedBy: ['quiet'],
    faults: ['redisIsSlow', 'redisIsSlow', 'redisIsSlow', 'redisFreezes'],
    script: inScript('release', "redis.call('HSET', record, 'kind', 'released')", ''),
  },
  'admission looks at no balance': {
    noticedBy: ['limits', 'covered'],
    script: inScript('admit', 'if available >= amount then', 'if true then'),
  },
  'admission looks at no budget of a key': {
    noticedBy: ['limits', 'covered'],
    script: inScript('admit', 'limitOf(tonumber(budget))', 'nil'),
  },
  'admission looks at no budget of a period': {
    noticedBy: ['limits', 'covered'],
    script: inScript('admit', 'limitOf(tonumber(most))', 'nil'),
  },
  'the sum of a period that newer sums of its key lack goes on counting': {
    noticedBy: ['limits', 'covered'],
    seed: 420,
    router: withLate('absorb', 1_000),
    script: inScript('admit', 'and known[2] == ARGV[1] and isCurrent', 'and known[2] == ARGV[1]'),
  },
  'admission looks at no cap': {
    noticedBy: ['limits', 'covered'],
    script: inScript('admit', 'limitOf(tonumber(cap))', 'nil'),
  },
  'admission asks neither for the mark nor for the session, nor whether sums were loaded under that mark': {
    seed: 70,
    leaseMs: 20_000,
    longestCallMs: 10_000,
    noticedBy: ['given up', 'limits', 'covered'],
    faults: ['routerFreezes', 'routerFreezes', 'redisIsEmptied'],
    script: inScripts(
      inScript('admit', 'if not isInForce() or not hasSession(ARGV[10]) then', 'if false then'),
      inScript('admit', 'if wallet[1] ~= ARGV[1] then', 'if not wallet[1] then'),
    ),
  },
  'older sums replace newer ones': {
    noticedBy: ['limits', 'covered', 'redis'],
    router: withLate('absorb', 1_000),
    script: inScript('absorb', 'return timeline > knownTimeline', 'if true then return true end return timeline > 0'),
  },
  'calls are dropped, and the sums that contain them are not taken over': {
    noticedBy: ['limits', 'covered', 'redis'],
    script: inScript('absorb', "redis.call('HSET', WALLET, 'left', ARGV[4], ", "redis.call('HSET', WALLET, "),
  },
  'an answer that was asked for under another mark counts as one under this': {
    seed: 137,
    noticedBy: ['limits', 'covered'],
    faults: ['redisIsEmptied', 'redisIsEmptied'],
    router: withLate('absorb', 2_000),
    script: inScripts(
      inScript('absorb', "if not isInForce() then return { 'closed', 0, {} } end", ''),
      inScript(
        'absorb',
        "'sequence', ARGV[3], 'loaded', ARGV[1])",
        `'sequence', ARGV[3], 'loaded', redis.call('GET', '{${TAG}}:mark') or '')`,
      ),
    ),
  },
  'no router puts its calls back': {
    seed: 34,
    noticedBy: ['limits', 'covered'],
    router: (parts) => {
      for (const kind of ['held', 'ended']) Object.defineProperty(parts.pending, kind, { get: () => [] });
      return parts;
    },
  },
  'a router puts back its running calls alone': {
    seed: 130,
    noticedBy: ['limits', 'covered'],
    router: (parts) => {
      Object.defineProperty(parts.pending, 'ended', { get: () => [] });
      return parts;
    },
  },
  'what is counted only now is counted from an answer of before': {
    seed: 102,
    leaseMs: 1_500,
    noticedBy: ['covered'],
    faults: ['redisIsEmptied', 'routerFreezes', 'routerFreezes', 'redisIsEmptied', 'routerFreezes'],
    router: withLate('absorb', 2_000),
    script: inScript('absorb', 'local isLate = wallet[1] == ARGV[1]', 'local isLate = false'),
  },
  'a put-back turns a charge into a hold again': {
    noticedBy: ['limits', 'covered', 'pending'],
    faults: ['redisIsSlow', 'redisIsEmptied', 'redisLosesItsTail', 'connectionsBreak'],
    script: inScript('putBack', "if known[1] == 'ended' then", 'if false then'),
  },
  'a put-back counts that comes after a later one': {
    leaseMs: 1_500,
    longestCallMs: 10_000,
    noticedBy: ['given up', 'limits', 'covered'],
    faults: ['routerFreezes', 'routerLosesRedis', 'redisIsEmptied'],
    router: withStrays('putBack', 0.5, 3_000),
    script: inScript('putBack', ">= tonumber(ARGV[3]) then return 'late' end", '>= tonumber(ARGV[3]) then end'),
  },
  'a put-back brings back a hold that was released meanwhile': {
    noticedBy: ['quiet'],
    faults: ['redisIsEmptied', 'routerLosesRedis', 'redisIsEmptied'],
    router: withLongPutBacks,
    script: inScript('putBack', "kind == 'held' and known[1] == 'released'", 'false'),
  },
  'a mark is put however late its command comes': {
    noticedBy: ['live'],
    breaks: 'aRouterDies',
    router: withStrays('setMark', 0.5, 12_000),
    script: inScript('setMark', "> tonumber(ARGV[2]) then return 'too_late' end", '> tonumber(ARGV[2]) then end'),
  },
  'an admission counts that was asked for under another session': {
    seed: 2_080,
    leaseMs: 1_500,
    longestCallMs: 10_000,
    noticedBy: ['given up', 'limits', 'covered'],
    faults: ['routerFreezes', 'routerFreezes', 'routerLosesRedis'],
    router: withLate('admit', 2_000),
    source: {
      file: 'libs/holds/src/shardHolds.ts',
      from: 'if (this.sessionState.session?.token !== session.token) {',
      to: 'if (false) {',
    },
  },
  'an admission does not ask whether its session still exists': {
    leaseMs: 1_500,
    longestCallMs: 10_000,
    noticedBy: ['given up', 'limits', 'covered'],
    faults: ['routerStandsStill', 'routerStandsStill', 'routerStandsStill'],
    script: inScript('admit', 'or not hasSession(ARGV[10])', ''),
  },
  'calls leave the spool that were put back while they were asked about': {
    leaseMs: 1_500,
    noticedBy: ['quiet'],
    faults: ['routerFreezes', 'routerLosesRedis', 'routerFreezes', 'redisIsSlow', 'redisIsSlow', 'routerLosesRedis'],
    router: withBoth(withLate('absorb', 1_000), withLongPutBacks),
    source: {
      file: 'libs/holds/src/balances/absorb.ts',
      from: 'if (this.#sessionState.session?.token !== token || this.#sessionState.putBacks !== putBacks)',
      to: 'if (false)',
    },
  },
  'a call leaves the spool whose row is unknown and whose charge is to come': {
    leaseMs: 1_500,
    longestCallMs: 8_000,
    noticedBy: ['quiet', 'limits', 'covered'],
    faults: ['routerFreezes', 'routerFreezes', 'routerLosesRedis', 'eventsAreSpoilt', 'eventsAreSpoilt'],
    source: {
      file: 'libs/holds/src/call/recordCalls.ts',
      from: "(status === 'unknown' && unknown.has(callId))",
      to: 'unknown.has(callId)',
    },
  },
  'a sweeper takes every session for lapsed': {
    noticedBy: ['given up'],
    router: (parts) => {
      parts.redis.exists = (async () => 0) as typeof parts.redis.exists;
      return parts;
    },
  },
  'no sweeper ever finds a session lapsed': {
    noticedBy: ['swept'],
    breaks: 'aRouterDies',
    router: (parts) => {
      parts.redis.exists = (async () => 1) as typeof parts.redis.exists;
      return parts;
    },
  },
  'a router admits while the gate is closed': {
    seed: 525,
    noticedBy: ['limits', 'covered'],
    faults: ['redisLosesItsTail', 'redisComesBackEmpty', 'redisIsEmptied'],
    router: (parts) => {
      Object.defineProperty(parts.sessionState, 'isOpen', { get: () => parts.sessionState.session !== undefined });
      return parts;
    },
  },
  'the spool lets go of what the event log has, recorded or not': {
    seed: 163,
    noticedBy: ['rows', 'limits', 'covered'],
    faults: ['routerIsKilled', 'redisComesBackEmpty', 'eventLogIsDown', 'ledgerIsKilled'],
    router: (parts) => {
      const { eventLog, spool, pending } = parts;
      return {
        ...parts,
        eventLog: {
          ...eventLog,
          async append(topic, records) {
            await eventLog.append(topic, records);
            for (const { value } of records) {
              const { callId } = JSON.parse(value) as { callId: string };
              spool.release(callId);
              pending.remove(callId);
            }
          },
        },
      };
    },
  },
  'what is recorded does not raise the sequence': {
    noticedBy: ['limits', 'covered', 'redis'],
    statements: recording((run, { tables }) => {
      const before = tables.sequences;
      tables.sequences = new Map(before);
      const answer = run();
      tables.sequences = before;
      return answer;
    }),
  },
  'what a dead letter’s replay records does not raise the sequence': {
    noticedBy: ['limits', 'covered', 'redis'],
    faults: ['eventsAreSpoilt', 'eventsAreSpoilt'],
    statements: {
      recordUsage: (run, { tables }) => {
        const before = tables.sequences;
        tables.sequences = new Map(before);
        const answer = run();
        tables.sequences = before;
        return answer;
      },
    },
  },
  'a credit does not raise the sequence': {
    noticedBy: ['limits', 'covered', 'redis'],
    faults: ['creditIsGiven', 'creditIsTaken'],
    statements: {
      addCredit: (run, { tables }) => {
        const before = tables.sequences;
        tables.sequences = new Map(before);
        const answer = run();
        tables.sequences = before;
        return answer;
      },
    },
  },
  'sums of a lower sequence replace those of a higher one, and no others': {
    noticedBy: ['limits', 'covered', 'redis'],
    script: inScript('absorb', 'sequence > knownSequence', 'sequence < knownSequence'),
  },
  'sums of a higher sequence replace those of a later timeline': {
    noticedBy: ['limits', 'covered', 'redis'],
    faults: ['databaseFailsOver', 'requestsAreLate'],
    script: inScript(
      'absorb',
      'timeline > knownTimeline or (timeline == knownTimeline and sequence > knownSequence)',
      'sequence > knownSequence',
    ),
  },
  'an absorb has the sums of one instant and the calls of a later one': {
    noticedBy: ['limits', 'covered'],
    statements: { absorb: withSumsOfBefore(({ left, months, keys, seq }) => ({ left, months, keys, seq })) },
  },
  'an absorb has the sums of one instant, and the sequence and the calls of a later one': {
    noticedBy: ['limits', 'covered', 'redis'],
    statements: { absorb: withSumsOfBefore(({ left, months, keys }) => ({ left, months, keys })) },
  },
  'an absorb takes a call for recorded whose row is unknown': {
    leaseMs: 1_500,
    noticedBy: ['given up', 'limits', 'covered', 'rows'],
    faults: ['routerFreezes', 'routerFreezes', 'routerLosesRedis'],
    statements: {
      absorb: (run) => run().map((row) => ({ ...row, final: [...row.final, ...row.unknown], unknown: [] })),
    },
  },
  'an unknown row gives way to nothing': {
    leaseMs: 1_500,
    noticedBy: ['rows', 'quiet'],
    faults: ['routerFreezes', 'routerLosesRedis', 'routerFreezes'],
    statements: recording((run, { tables }, events) => {
      const known = events.filter(({ callId }) => tables.usageRequests.has(callId));
      for (const event of known) events.splice(events.indexOf(event), 1);
      return run();
    }),
  },
  'an unknown event replaces a row that is known': {
    leaseMs: 1_500,
    noticedBy: ['rows', 'totals'],
    faults: ['routerFreezes', 'routerLosesRedis', 'routerFreezes'],
    statements: recording((run, { tables }, events) => {
      for (const event of events) if (event.status === 'unknown') tables.usageRequests.delete(event.callId);
      return run();
    }),
  },
  'what is delivered twice is charged twice': {
    noticedBy: ['totals'],
    faults: ['routerIsKilled', 'ledgerIsKilled', 'commitsAreLost'],
    statements: recording((run, { tables }, events) => {
      for (const { callId } of events) tables.usageRequests.delete(callId);
      return run();
    }),
  },
  'a reader moves the offset wherever it stands': {
    noticedBy: ['offsets'],
    faults: ['ledgerIsKilled', 'databaseIsSlow', 'commitsAreLost'],
    statements: {
      recordBatch: (run, { tables, undo }, { topic, partition }, { from }) => {
        const name = `${topic} ${partition}`;
        const before = tables.eventOffsets.get(name);
        tables.eventOffsets.set(name, from);
        undo.push(() =>
          before === undefined ? tables.eventOffsets.delete(name) : tables.eventOffsets.set(name, before),
        );
        return run();
      },
    },
  },
  'balances are given on a new timeline before the log is read again': {
    noticedBy: ['limits', 'covered'],
    faults: ['databaseFailsOver', 'databaseFailsOver'],
    source: {
      file: 'services/usage-ledger/src/balances/absorb.ts',
      from: 'if (first.caughtUpWith !== first.timeline)',
      to: 'if (false)',
    },
  },
  'a database that is started again counts as the one that it was, whatever its disk was set back to': {
    noticedBy: ['limits', 'covered', 'redis'],
    faults: ['databaseIsSetBack', 'databaseIsSetBack'],
    isBlindToRestarts: true,
  },
  'routers are not given their time again by a database that was set back to before they put back': {
    seed: 549,
    noticedBy: ['given up'],
    faults: ['databaseIsSetBack', 'databaseIsSetBack', 'redisIsEmptied', 'databaseIsSetBack'],
    statements: {
      catchUp: (run, { tables }) => {
        const before = [...tables.redisServers];
        const answer = run();
        for (const [name, server] of before) tables.redisServers.set(name, server);
        return answer;
      },
    },
  },
  'the log counts as read again wherever its readers are': {
    noticedBy: ['limits', 'covered'],
    faults: ['databaseFailsOver', 'databaseFailsOver', 'databaseFailsOver'],
    statements: {
      catchUp: (_run, { tables, timeline }) => {
        const was = tables.recovery.timeline;
        tables.recovery = { ...tables.recovery, timeline };
        return [{ was }];
      },
    },
  },
  'a gate opens once any router has put back': {
    noticedBy: ['given up'],
    source: {
      file: 'services/usage-ledger/src/recovery/judgeAdmissionState.ts',
      from: 'const isDue = waitsFor.length === 0 || server.raisedMsAgo >= LONGEST_WAIT_MS;',
      to: 'const isDue = true;',
    },
  },
  'a router that has put back under an earlier mark counts': {
    noticedBy: ['given up', 'limits', 'covered'],
    faults: ['redisIsEmptied', 'redisIsEmptied'],
    source: {
      file: 'services/usage-ledger/src/recovery/judgeAdmissionState.ts',
      from: 'router.putBackMark !== server?.mark)',
      to: 'router.putBackMark === null)',
    },
  },
  'nobody is ever fenced': {
    noticedBy: ['live'],
    breaks: 'aRouterLosesRedis',
    source: {
      file: 'services/usage-ledger/src/recovery/judgeAdmissionState.ts',
      from: ' || server.raisedMsAgo >= LONGEST_WAIT_MS',
      to: '',
    },
  },
  'who has been silent for long is waited for, and nobody is fenced': {
    noticedBy: ['live'],
    breaks: 'aRouterDies',
    statements: {
      readRecovery: (run, { tables }) =>
        run().map(({ servers, ...answer }) => ({
          ...answer,
          routers: [...tables.routers.values()].map(({ heardAt: _, ...router }) => router),
          servers: servers.map((server) => ({ ...server, raisedMsAgo: Math.min(server.raisedMsAgo, 2_100) })),
        })),
    },
  },
  'silence counts while nobody could be heard': {
    noticedBy: ['given up'],
    faults: ['databaseIsAway', 'databaseIsAway', 'databaseIsAway', 'redisIsEmptied', 'redisComesBackEmpty'],
    statements: {
      readRecovery: (run, context) => {
        const { tables } = context;
        const { listeningSince } = tables.recovery;
        tables.recovery.listeningSince = 0;
        const answer = run();
        tables.recovery.listeningSince = listeningSince;
        return answer;
      },
    },
  },
  'a stranger is told that it is none': {
    noticedBy: ['stranger'],
    breaks: 'aRouterSeesAnotherRedis',
    source: {
      file: 'services/usage-ledger/src/recovery/judgeAdmissionState.ts',
      from: '{ ...asItIs, isStranger: true, move }',
      to: '{ ...asItIs, move }',
    },
  },
  'the Redis that one router sees beside the others takes the gate': {
    noticedBy: ['live', 'given up'],
    breaks: 'aRouterSeesAnotherRedis',
    source: {
      file: 'services/usage-ledger/src/recovery/judgeAdmissionState.ts',
      from: 'votes(redisId) > votes(open.redisId)',
      to: 'true',
    },
  },
  'the Redis that most routers see never takes the gate': {
    noticedBy: ['live'],
    breaks: 'aRouterStaysWithTheOldRedis',
    source: {
      file: 'services/usage-ledger/src/recovery/judgeAdmissionState.ts',
      from: 'votes(redisId) > votes(open.redisId)',
      to: 'false',
    },
  },
  'a gate that opens leaves others open': {
    noticedBy: ['one gate'],
    statements: {
      openRedis: (_run, { tables, nowMs }, { shard, redisId }) => {
        const name = serverName({ shard, redisId });
        const server = tables.redisServers.get(name);
        if (server) tables.redisServers.set(name, { ...server, openedAt: nowMs });
        return 1;
      },
    },
  },
  'a Redis that was emptied keeps its mark': {
    noticedBy: ['quiet'],
    faults: ['redisIsEmptied'],
    source: {
      file: 'services/usage-ledger/src/recovery/judgeAdmissionState.ts',
      from: 'if (missingMark === server.mark)',
      to: 'if (false)',
    },
  },
};
