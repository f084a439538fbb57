import type { EpochStamp } from '../../services/model-router/src/money/redis/redisEpoch.ts';
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
    script: inScript('settle', "if state == 'held' or state == 'swept' then", 'if state then'),
  },
  'settling keeps the hold': {
    script: inScript('settle', "if state == 'held' then", 'if false then'),
  },
  'sweeping does not look at the lease': {
    script: (name, source) =>
      inScript(
        'findEndedLeases',
        "'-inf', nowMs",
        "'-inf', '+inf'",
      )(name, inScript('sweepCall', 'tonumber(leaseEnd) > nowMs', 'false')(name, source)),
  },
  'sweeping keeps the hold': {
    script: inScript('sweepCall', "elseif record[1] == 'held' then", 'elseif false then'),
  },
  'an admitted call is not put where the sweeper looks': {
    script: inScript('admit', "redis.call('SADD', KEYS[9], ARGV[16])", ''),
  },
  'a late ending of a swept call is not charged': {
    faults: ['routerLosesRedis', 'routerLosesRedis', 'routerLosesRedis'],
    script: inScript('settle', "if state == 'held' or state == 'swept' then", "if state == 'held' then"),
  },
  'admission looks at no balance': {
    script: inScript('admit', 'if available < amount then', 'if false then'),
  },
  'admission does not ask which Redis it runs on, nor which epoch': {
    script: (name, source) => {
      const admitsInto = inScript('admit', "redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[11]", 'false')(name, source);
      return inScript(
        'admit',
        "not string.find(redis.call('INFO', 'replication'), 'master_replid:' .. ARGV[12], 1, true)",
        'false',
      )(name, admitsInto);
    },
  },
  'a released admission keeps its hold': {
    script: inScript('release', "redis.call('HINCRBY', KEYS[1], 'held', 0 - tonumber(record[2]))", ''),
  },
  'no router asserts its holds': {
    router: (parts) => ({ ...parts, assertCall: async () => {} }),
  },
  'a router puts the mark of the epoch back while holds are asserted': {
    faults: ['redisIsEmptiedWhileRebuilt', 'redisIsEmptiedWhileRebuilt'],
    router: (parts) => {
      const { mark } = parts;
      let stamp: EpochStamp | undefined;
      return {
        ...parts,
        mark: {
          put(next, heardAtMs) {
            stamp = next;
            return mark.put(next, heardAtMs);
          },
          async isThere() {
            if (stamp) await mark.put(stamp, Number.MAX_SAFE_INTEGER);
            return true;
          },
        },
      };
    },
  },
  'a recovery does not ask which calls from before are recorded': {
    script: inScript('loadBalances', "ARGV[at] ~= '1'", 'true'),
  },
  'a dead letter that is replayed does not want balances to be built anew': {
    faults: ['eventsAreSpoilt', 'redisComesBackEmpty', 'redisLosesItsTail', 'eventsAreSpoilt'],
    ignoredStatement: 'wantRebuild',
  },
  'admission looks at no budget of a key': {
    script: inScript('admit', 'limitOf(tonumber(ARGV[7]))', 'nil'),
  },
  'admission looks at no cap': {
    script: inScript('admit', 'limitOf(tonumber(ARGV[8]))', 'nil'),
  },
  'a recovery loads one month alone': {
    script: inScript('loadBalances', "':spent', ARGV[at + 1]", "':spent', _ == 1 and ARGV[at + 1] or '0'"),
  },
  'no router waits until it has drained': {
    router: (parts) => ({ ...parts, isCaughtUp: () => true }),
  },
  'what Redis keeps of ended calls is not sent before balances are built': {
    faults: ['diskIsFull', 'redisLosesItsTail', 'diskIsFull', 'redisFailsOver'],
    router: (parts) => ({ ...parts, publishKept: async () => {} }),
  },
  'a router admits while its epoch is not open': {
    faults: ['redisLosesItsTail', 'eventsAreSpoilt', 'eventsAreSpoilt', 'eventsAreSpoilt', 'eventsAreSpoilt'],
    router: (parts) => {
      Object.defineProperty(parts.epoch, 'isOpen', { get: () => parts.epoch.stamp.number > 0 });
      return parts;
    },
  },
  'events are sent before their calls are settled': {
    router: (parts) => ({ ...parts, waitingCalls: { has: () => false } }),
  },
  'the spool deletes what the event log has not acknowledged': {
    router: (parts) => {
      const readBatch = parts.spool.readBatch.bind(parts.spool);
      parts.spool.readBatch = async (most) => {
        const batch = await readBatch(most);
        await batch?.acknowledge();
        return batch;
      };
      return parts;
    },
  },
};
