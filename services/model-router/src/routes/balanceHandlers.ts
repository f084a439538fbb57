import type { Absorber } from '@turnpike/holds/balances/absorb';
import type { Counter, KeyCounter, PendingCall } from '@turnpike/holds/balances/readCounters';
import type { FaultOf } from '@turnpike/internal-api/internalApi';
import type { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import type { Handlers } from '@turnpike/internal-api/transport/serveApi';
import { ApiError } from '@turnpike/public-api/apiError';
import type { Money } from '../money/openMoney.ts';

export type BalanceHandlerDependencies = Pick<
  Money,
  'absorber' | 'readCounters' | 'findKeySpend' | 'findUsedRates' | 'findCredit' | 'raiseGeneration'
>;

type BalanceHandlers = Pick<
  Handlers<typeof modelRouterApi>,
  'getKeySpend' | 'getCredit' | 'raiseKeyGeneration' | 'reloadBalances' | 'getCounters'
>;

/** Creates the handlers that report the gate's counters and notify it of changes. */
export function createBalanceHandlers(dependencies: BalanceHandlerDependencies): BalanceHandlers {
  return {
    async getKeySpend({ params: { workspace_id: workspaceId, key_id: keyId, rpm, tpm, period } }) {
      const [spend, used] = await Promise.all([
        dependencies.findKeySpend({ workspaceId, keyId, period }),
        rpm !== undefined && tpm !== undefined && dependencies.findUsedRates({ workspaceId, keyId, rpm, tpm }),
      ]);
      return {
        spend_nano_usd: spend.spentNanoUsd.toString(),
        held_nano_usd: spend.heldNanoUsd.toString(),
        period_spend_nano_usd: spend.periodSpentNanoUsd?.toString() ?? null,
        ...(used && { used_requests: used.requests, used_tokens: used.tokens }),
      };
    },
    async getCredit({ params: { workspace_id: workspaceId } }) {
      const { creditNanoUsd, heldNanoUsd, monthSpentNanoUsd } = await dependencies.findCredit(workspaceId);
      return {
        credit_nano_usd: creditNanoUsd.toString(),
        held_nano_usd: heldNanoUsd.toString(),
        month_spend_nano_usd: monthSpentNanoUsd.toString(),
      };
    },
    async raiseKeyGeneration({ params }) {
      const { workspace_id: workspaceId, key_id: keyId, generation, status } = params;
      return { generation: await dependencies.raiseGeneration({ workspaceId, keyId, generation, status }) };
    },
    reloadBalances: createReloadBalances(dependencies),
    async getCounters({ params: { workspace_id: workspaceId, after } }) {
      const counters = await dependencies.readCounters(workspaceId, after);
      return {
        now_ms: counters.nowMs,
        mark: counters.mark ?? null,
        left_nano_usd: counters.leftNanoUsd?.toString() ?? null,
        ...toPlace(counters),
        ...toPending(counters),
        keys: mapValues(counters.keys, toKeyCounterBody),
        months: mapValues(counters.months, toCounterBody),
        calls: counters.calls.map(toCallBody),
        next_after: counters.nextAfter ?? null,
      };
    },
  };
}

/** The ledger took credit from a workspace: answered once Redis has it, so from the next call on every router counts it. */
export function createReloadBalances({
  absorber,
}: {
  absorber: Pick<Absorber, 'reload'>;
}): BalanceHandlers['reloadBalances'] {
  return async ({ params: { workspace_id: workspaceId } }) => {
    await absorber.reload(workspaceId).catch((error: unknown) => {
      throw new ApiError<FaultOf<typeof modelRouterApi>>({ kind: 'balances_unavailable' }, { cause: error });
    });
    return {};
  };
}

const mapValues = <From, To>(all: Record<string, From>, to: (one: From) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(all).map(([name, one]) => [name, to(one)]));

const toPlace = ({ timeline, sequence }: Pick<Counter, 'timeline' | 'sequence'>) => ({
  timeline: timeline ?? null,
  seq: sequence ?? null,
});

const toPending = ({ heldNanoUsd, endedNanoUsd }: Pick<Counter, 'heldNanoUsd' | 'endedNanoUsd'>) => ({
  held_nano_usd: String(heldNanoUsd),
  ended_nano_usd: String(endedNanoUsd),
});

const toCounterBody = (counter: Counter) => ({
  spent_nano_usd: counter.spentNanoUsd?.toString() ?? null,
  ...toPlace(counter),
  ...toPending(counter),
});

const toKeyCounterBody = ({ period, ...counter }: KeyCounter) => ({
  ...toCounterBody(counter),
  ...(period && {
    period: { since: period.since, spent_nano_usd: String(period.spentNanoUsd), ...toPlace(period) },
  }),
});

const toCallBody = (call: PendingCall) => ({
  call_id: call.callId,
  key_id: call.keyId,
  kind: call.kind,
  amount_nano_usd: String(call.amountNanoUsd),
  month: call.month,
  session: call.session,
  has_live_session: call.hasLiveSession,
  owner: call.owner,
  admitted_at_ms: call.admittedAtMs,
});
