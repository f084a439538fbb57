import { getJson, kubectl } from '@turnpike/cluster/kubectl';
import { REGION_SERVICES } from '@turnpike/config/services';
import { z } from 'zod';
import type { Cell } from '../cell.ts';
import { APP, listRegionPods } from '../region/pods.ts';
import { judge, startTraffic } from './rollingUpdate.ts';

const REGION = 'us';
/** Stores are single copies, and their disks are the node's own: they stay, as would a store outside of the cluster. */
const EVICTED = `${APP} in (${REGION_SERVICES.join(',')})`;
const DRAIN_WITHIN = '400s';

const nodesSchema = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

export const nodeDrained: Cell = {
  name: 'node-drained',
  does: 'kubectl drain of a node that has pods of the services, under load; then it takes pods again',
  holds:
    'no call fails, no stream is cut, and the books are exact; disruption budgets let no service go under one replica',
  async run(suite) {
    const { items } = nodesSchema.parse(await getJson(['get', 'nodes']));
    const counts = await Promise.all(
      items.map(async ({ metadata: { name } }) => ({ name, count: await countServices(name) })),
    );
    const [node] = counts.filter(({ count }) => count > 0).toSorted((a, b) => a.count - b.count);
    if (!node || items.length < 2) throw new Error('it takes a cluster of two nodes: npm run cluster -- --nodes 2');
    const context = await suite.openBooks(REGION);
    const traffic = startTraffic(context, 1 / 2);
    await traffic.calls.untilSent(100);
    traffic.beginMedia();
    suite.doing(`node-drained: draining ${node.name}`);
    const startedAt = performance.now();
    try {
      await kubectl([
        'drain',
        node.name,
        `--pod-selector=${EVICTED}`,
        '--ignore-daemonsets',
        '--delete-emptydir-data',
        `--timeout=${DRAIN_WITHIN}`,
      ]);
      suite.note(
        `${node.count} pods of ${node.name} evicted in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`,
      );
    } finally {
      await kubectl(['uncordon', node.name]);
    }
    await context.stack.untilReady();
    await traffic.stop();
    judge(suite)(context);
  },
};

async function countServices(node: string): Promise<number> {
  const pods = await listRegionPods(REGION);
  return pods.filter(
    ({ spec, metadata }) => spec.nodeName === node && REGION_SERVICES.some((name) => name === metadata.labels[APP]),
  ).length;
}
