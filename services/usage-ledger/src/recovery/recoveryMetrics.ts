import { createAskedGauge } from '@turnpike/telemetry/askedGauge';
import type { Meter } from '@turnpike/telemetry/startTelemetry';
import type { RecoveryState, RouterRecovery } from './describeRecovery.ts';

const isBehind = ({ state }: RouterRecovery): boolean => state === 'has_not_put_back' || state === 'sees_no_redis';

/** Creates the instruments of a recovery, with one query for all of them at every scrape. */
export function observeRecovery(meter: Meter, ask: () => Promise<RecoveryState>): void {
  let asking: Promise<RecoveryState> | undefined;
  const share = (): Promise<RecoveryState> => {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };
  const gauge = (name: string, description: string, of: (standing: RecoveryState) => number): void =>
    createAskedGauge(meter, { name, description, ask: () => share().then(of) });
  const count =
    (isCounted: (router: RouterRecovery) => boolean) =>
    ({ routers }: RecoveryState) =>
      new Set(routers.filter(isCounted).map(({ routerId }) => routerId)).size;

  gauge(
    'turnpike_gate_open',
    'Whether a router admits calls of every shard, by what routers report: 1 or 0.',
    ({ closedMs }) => (closedMs === null ? Number.NaN : Number(closedMs === 0)),
  );
  gauge(
    'turnpike_gate_closed_seconds',
    'How long no router has admitted a call, of the shard that has been closed longest.',
    ({ closedMs }) => (closedMs === null ? Number.NaN : closedMs / 1_000),
  );
  gauge(
    'turnpike_routers_awaited',
    'Routers that have not put their calls back, while the gate is closed.',
    count((router) => router.isShardClosed && isBehind(router)),
  );
  gauge(
    'turnpike_routers_fenced',
    'Routers that have not put their calls back and admit nothing, while others do.',
    count((router) => !router.isShardClosed && isBehind(router)),
  );
  gauge(
    'turnpike_router_strangers',
    'Routers that see another Redis than the region counts in.',
    count(({ state }) => state === 'is_stranger'),
  );
  gauge(
    'turnpike_routers_overdue',
    'Routers that have admitted nothing for longer than anything is waited for.',
    count(({ isOverdue }) => isOverdue),
  );
  gauge(
    'turnpike_balances_given',
    'Whether the ledger gives balances: 0 while it reads the event log again after Postgres was started or taken over from.',
    ({ timeline, caughtUpWith }) => Number(timeline === caughtUpWith),
  );
}
