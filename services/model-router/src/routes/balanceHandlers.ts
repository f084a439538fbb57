import type { FaultOf } from '@turnpike/internal-api/internalApi';
import type { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import type { Handlers } from '@turnpike/internal-api/serveApi';
import { ApiError } from '@turnpike/public-api/apiError';
import type { Redis } from 'ioredis';
import type { BalanceLoader } from '../money/balances/loadBalances.ts';
import { type CountedBalance, type CountedCall, findKeySpend, readCounters } from '../money/balances/readCounters.ts';
import { createRaiseGeneration } from '../money/gate/admit.ts';
import type { RedisEpoch } from '../money/redis/redisEpoch.ts';

export interface BalanceHandlerDependencies {
  redis: Redis;
  balances: BalanceLoader;
  epoch: Pick<RedisEpoch, 'stamp' | 'isOpen'>;
}

type BalanceHandlers = Pick<
  Handlers<typeof modelRouterApi>,
  'getKeySpend' | 'raiseKeyGeneration' | 'reloadBalances' | 'getCounters'
>;

/** What the gate counts, and what it is told of changes. */
export function createBalanceHandlers(dependencies: BalanceHandlerDependencies): BalanceHandlers {
  const { redis } = dependencies;
  const raiseGeneration = createRaiseGeneration(redis);
  return {
    async getKeySpend({ params: { workspace_id: workspaceId, key_id: keyId } }) {
      const { spentNanoUsd, heldNanoUsd } = await findKeySpend(dependencies, { workspaceId, keyId });
      return { spend_nano_usd: spentNanoUsd.toString(), held_nano_usd: heldNanoUsd.toString() };
    },
    async raiseKeyGeneration({ params: { workspace_id: workspaceId, key_id: keyId, generation } }) {
      return { generation: await raiseGeneration({ workspaceId, keyId, generation }) };
    },
    reloadBalances: createReloadBalances(dependencies),
    async getCounters({ params: { workspace_id: workspaceId, after } }) {
      const counters = await readCounters(dependencies, { workspaceId, after });
      return {
        now_ms: counters.nowMs,
        epoch: counters.epoch,
        credit_seq: counters.creditSeq,
        credited_nano_usd: String(counters.creditedNanoUsd),
        ...toBalanceBody(counters),
        admitted_calls: counters.admittedCalls,
        uncertain_calls: counters.uncertainCalls,
        keys: Object.fromEntries(counters.keys.map(({ keyId, ...balance }) => [keyId, toBalanceBody(balance)])),
        months: Object.fromEntries(
          Object.entries(counters.months).map(([month, balance]) => [month, toBalanceBody(balance)]),
        ),
        calls: counters.calls.map(toCallBody),
        next_after: counters.nextAfter ?? null,
      };
    },
  };
}

/** The ledger took credit from a workspace: answered once Redis has it, so from the next call on every router counts it. */
export function createReloadBalances({
  balances,
  epoch,
}: {
  balances: Pick<BalanceLoader, 'reload'>;
  epoch: Pick<RedisEpoch, 'isOpen'>;
}): BalanceHandlers['reloadBalances'] {
  return async ({ params: { workspace_id: workspaceId } }) => {
    if (!epoch.isOpen) throw refuse();
    await balances.reload(workspaceId).catch((error: unknown) => {
      throw refuse(error);
    });
    return {};
  };
}

const refuse = (cause?: unknown): ApiError<FaultOf<typeof modelRouterApi>> =>
  new ApiError({ kind: 'balances_unavailable' }, { cause });

const toBalanceBody = ({ spentNanoUsd, heldNanoUsd }: CountedBalance) => ({
  spent_nano_usd: String(spentNanoUsd),
  held_nano_usd: String(heldNanoUsd),
});

const toCallBody = (call: CountedCall) => ({
  call_id: call.callId,
  key_id: call.keyId,
  state: call.state,
  hold_nano_usd: String(call.holdNanoUsd),
  charge_nano_usd: String(call.chargeNanoUsd),
  owner: call.owner,
  admitted_at_ms: call.admittedAtMs,
  lease_ends_in_ms: call.leaseEndsInMs,
});
