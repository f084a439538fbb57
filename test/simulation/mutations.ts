import type { StatementName } from './ledger/ledgerStatements.ts';
import type { RouterParts } from './router/simulatedRouter.ts';

/** A change of the protocol that must not go unnoticed. */
export interface Mutation {
  /** Makes a mutant of a script's source. */
  script?: (name: string, source: string) => string;
  router?: (parts: RouterParts) => RouterParts;
  /** A statement of the ledger that changes nothing. */
  ignoredStatement?: StatementName;
  /** Names of faults that happen for certain, where chance alone would seldom bring about what the change breaks. */
  faults?: string[];
}

/** In one script, one text for another; throws where the script has changed so that there is nothing to change any more. */
const inScript =
  (script: string, from: string, to: string): NonNullable<Mutation['script']> =>
  (name, source) => {
    if (name !== script) return source;
    if (!source.includes(from)) throw new Error(`${script}.lua has no “${from}” to mutate`);
    return source.replace(from, to);
  };

/** Each is the removal of one thing that the protocol stands on. */
export const MUTATIONS: Record<string, Mutation> = {
  'settling a call charges it again when it was settled before': {
    script: inScript(
      'settle',
      "if call[1] ~= 'held' then return",
      "if not call[1] or call[1] == 'released' then return",
    ),
  },
  'settling keeps the hold': { script: inScript('settle', "take('held', call[2], call[3], call[4])", '') },
  'a released admission keeps its hold': {
    script: inScript('release', "take('held', call[2], call[3], call[4])", ''),
  },
  'a released admission may come after all': {
    faults: ['redisIsSlow', 'redisIsSlow', 'redisIsSlow', 'redisFreezes'],
    script: inScript('release', "redis.call('HSET', KEYS[6], 'kind', 'released')", ''),
  },
  'admission looks at no balance': { script: inScript('admit', 'if available >= amount then', 'if true then') },
  'admission looks at no budget of a key': { script: inScript('admit', 'limitOf(tonumber(budget))', 'nil') },
  'admission looks at no cap': { script: inScript('admit', 'limitOf(tonumber(cap))', 'nil') },
  'admission does not ask whether the mark is in force, nor whether sums were loaded under it': {
    script: (name, source) =>
      inScript(
        'admit',
        "if not isInForce() then return { 'closed'",
        "if false then return { 'closed'",
      )(name, inScript('admit', 'if wallet[1] ~= ARGV[1] then', 'if not wallet[1] then')(name, source)),
  },
  'older sums replace newer ones': {
    faults: ['requestsAreLate', 'requestsAreLate', 'requestsAreLate'],
    script: inScript('absorb', 'return timeline > knownTimeline', 'if true then return true end return timeline > 0'),
  },
  'calls are dropped, and the sums that contain them are not taken over': {
    script: inScript('absorb', "redis.call('HSET', KEYS[2], 'left', ARGV[6], ", "redis.call('HSET', KEYS[2], "),
  },
  'an answer that was asked for under another mark is taken over': {
    faults: ['redisComesBackEmpty', 'requestsAreLate', 'redisIsEmptied', 'requestsAreLate', 'redisComesBackEmpty'],
    script: inScript('absorb', "if not isInForce() then return { 'closed', 0 } end", ''),
  },
  'an unknown row drops a call whose charge is known': {
    faults: ['routerFreezes', 'routerFreezes', 'routerLosesRedis', 'eventLogIsDown'],
    script: inScript('absorb', "call[1] == 'held' and call[5] == ARGV[at + 1]", 'call[1] and call[5] == ARGV[at + 1]'),
  },
  'an unknown row drops a hold that was put back under another session': {
    faults: ['routerFreezes', 'routerLosesRedis', 'routerFreezes', 'requestsAreLate'],
    script: inScript('absorb', 'and call[5] == ARGV[at + 1]', ''),
  },
  'no router puts its calls back': { router: (parts) => ({ ...parts, putBack: async () => {} }) },
  'a router puts back its running calls alone': {
    router: (parts) => {
      Object.defineProperty(parts.pending, 'ended', { get: () => [] });
      return parts;
    },
  },
  'a put-back turns a charge into a hold again': {
    faults: ['redisIsSlow', 'redisIsEmptied', 'redisLosesItsTail', 'connectionsBreak'],
    script: inScript('putBack', "if known[1] == 'ended' then", 'if false then'),
  },
  'a put-back that comes late is run': {
    faults: [
      'redisIsSlow',
      'connectionsBreak',
      'redisIsEmptied',
      'redisIsSlow',
      'connectionsBreak',
      'redisLosesItsTail',
    ],
    script: inScript('putBack', '>= tonumber(ARGV[5])', '>= 1e300'),
  },
  'a session that has lapsed is taken up again': {
    faults: ['routerFreezes', 'routerLosesRedis', 'routerFreezes'],
    router: (parts) => {
      const { redis } = parts;
      redis.pexpire = (async (key: string, lifeMs: number) => {
        await redis.set(key, 'again', 'PX', lifeMs);
        return 1;
      }) as typeof redis.pexpire;
      Object.assign(parts.standing, { end: () => {} });
      return parts;
    },
  },
  'a sweeper takes every session for lapsed': {
    router: (parts) => {
      parts.redis.exists = (async () => 0) as typeof parts.redis.exists;
      return parts;
    },
  },
  'no sweeper ever finds a session lapsed': {
    router: (parts) => {
      parts.redis.exists = (async () => 1) as typeof parts.redis.exists;
      return parts;
    },
  },
  'a router admits while the gate is closed': {
    faults: ['redisLosesItsTail', 'redisComesBackEmpty', 'redisIsEmptied'],
    router: (parts) => {
      Object.defineProperty(parts.standing, 'isOpen', { get: () => parts.standing.session !== undefined });
      return parts;
    },
  },
  'the spool lets go of what the event log has, recorded or not': {
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
};

/**
 * Those that no check notices yet. What they remove is held by tests of the scripts on a real Redis; the simulation lacks the faults
 * that would bring about what they break.
 */
export const NOT_NOTICED_YET: ReadonlySet<string> = new Set([
  'admission does not ask whether the mark is in force, nor whether sums were loaded under it',
  'older sums replace newer ones',
  'an answer that was asked for under another mark is taken over',
  'an unknown row drops a call whose charge is known',
  'an unknown row drops a hold that was put back under another session',
  'a put-back that comes late is run',
]);
