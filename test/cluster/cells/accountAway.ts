import { type ClusterDescription, readClusterFile } from '@turnpike/cluster/describeCluster';
import { kubectl } from '@turnpike/cluster/kubectl';
import { namespaceOf } from '@turnpike/cluster/paths';
import { REGIONS } from '@turnpike/config/region';
import { AccountUser } from '../../support/accountUser.ts';
import type { Cell } from '../cell.ts';
import { APP } from '../region/pods.ts';
import { judge } from './rollingUpdate.ts';

const SERVICE = 'control-plane';
const NAMESPACE = namespaceOf('global');
const CALLS_PER_SECOND = 10;
const UNBOUNDED = 1_000_000;
/** Calls of each region without the control plane. */
const CALLS_AWAY = 200;
/** Beside the one key of the user's workspace, which so has a third of the calls. */
const OTHER_KEYS = 2;
const GONE_WITHIN = '120s';
const BACK_WITHIN = '180s';
const TIMEOUT_MS = 2_000;

export const accountAway: Cell = {
  name: 'account-away',
  does: `deletes the pod of the control plane under ${CALLS_PER_SECOND} calls a second in each region, and brings none back for ${CALLS_AWAY} calls of each`,
  holds:
    'no call fails, console hosts answer those who have a token, and the books are exact; once the control plane is back, regions learn of new workspaces',
  async run(suite) {
    const cluster = await readClusterFile();
    suite.doing('account-away: a user of each region');
    const regions = await Promise.all(
      REGIONS.map(async (region) => {
        const context = await suite.openBooks(region);
        const user = await AccountUser.signIn(cluster);
        const workspace = await user.makeWorkspace(region);
        const key = await workspace.makeKey();
        await workspace.untilCredit(key.apiKey);
        context.addAccount({ workspaceId: workspace.id, keys: [key] });
        return { context, user, workspace, keys: [key, ...context.account.keys.slice(0, OTHER_KEYS)] };
      }),
    );
    const loads = regions.map(({ context, keys }) =>
      context.startLoad({ calls: UNBOUNDED, perSecond: CALLS_PER_SECOND, openAtMost: 100, keys }),
    );
    try {
      suite.doing('account-away: the pod is deleted');
      const deletedAt = performance.now();
      await scale(0);
      await kubectl([
        'wait',
        '--for=delete',
        'pod',
        '-n',
        NAMESPACE,
        '-l',
        `${APP}=${SERVICE}`,
        `--timeout=${GONE_WITHIN}`,
      ]);
      suite.check(!(await answers(cluster)), 'the control plane answers although its pod is deleted');
      suite.doing('account-away: the control plane is away');
      await Promise.all(loads.map((load) => load.untilSent(load.sent + CALLS_AWAY)));
      for (const { workspace } of regions) {
        const { status } = await workspace.ask('/console/keys');
        suite.check(
          status === 200,
          `${workspace.region}: the console host answers ${status} without the control plane`,
        );
      }
      suite.check(!(await answers(cluster)), 'the control plane came back by itself');
      suite.note(
        `the control plane was away until ${toSeconds(performance.now() - deletedAt)} after the deletion of its pod`,
      );
    } finally {
      await scale(1);
      await kubectl(['rollout', 'status', `deployment/${SERVICE}`, '-n', NAMESPACE, `--timeout=${BACK_WITHIN}`]);
    }
    suite.doing('account-away: new workspaces');
    const backAt = performance.now();
    // The same sessions: those of before go on.
    for (const { user, workspace } of regions) await (await user.makeWorkspace(workspace.region)).makeKey();
    suite.note(`both regions had a new workspace ${toSeconds(performance.now() - backAt)} after it was back`);
    for (const load of loads) load.stop();
    await Promise.all(loads.map(({ done }) => done));
    for (const { context } of regions) judge(suite)(context);
  },
};

const scale = (replicas: number): Promise<string> =>
  kubectl(['scale', `deployment/${SERVICE}`, `--replicas=${replicas}`, '-n', NAMESPACE]);

const answers = ({ services }: ClusterDescription): Promise<boolean> =>
  fetch(`${services[SERVICE].url}/account/health`, { signal: AbortSignal.timeout(TIMEOUT_MS) }).then(
    () => true,
    () => false,
  );

const toSeconds = (durationMs: number): string => `${(durationMs / 1_000).toFixed(1)} s`;
