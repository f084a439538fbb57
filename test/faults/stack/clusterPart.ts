import type { ClusterNode, TestRedisCluster } from '@turnpike/test-support/startRedisCluster';
import { until } from '@turnpike/test-support/until';

/** A Redis Cluster as the part `redis` of a stack. A fault hits the master that serves the first slots at that time. */
export class ClusterPart {
  readonly #cluster: TestRedisCluster;
  #struck: ClusterNode | undefined;

  constructor(cluster: TestRedisCluster) {
    this.#cluster = cluster;
  }

  async kill(): Promise<void> {
    this.#struck = await this.#findFirstMaster();
    await this.#struck.kill();
  }

  async freeze(): Promise<void> {
    this.#struck = await this.#findFirstMaster();
    this.#struck.freeze();
  }

  thaw(): void {
    this.#struck?.thaw();
  }

  /** Resolves when every master has its replica in step again, so that another one may be lost. */
  async restart(): Promise<void> {
    await this.#struck?.restart();
    await this.untilWhole();
  }

  async untilWhole(): Promise<void> {
    const nodes = [...this.#cluster.masters, ...this.#cluster.replicas];
    for (const node of nodes)
      await until('the cluster to be whole', async () => {
        const [cluster, replication] = [await node.run('cluster', 'info'), await node.run('info', 'replication')];
        const isInStep = replication.includes('role:master')
          ? /connected_slaves:[1-9]/.test(replication)
          : replication.includes('master_link_status:up');
        return cluster.includes('cluster_state:ok') && cluster.includes('cluster_slots_fail:0') && isInStep;
      });
  }

  async #findFirstMaster(): Promise<ClusterNode> {
    const [first] = this.#cluster.masters;
    for (const node of [first, ...this.#cluster.replicas]) {
      const lines = await node.run('cluster', 'nodes').catch(() => '');
      const own = lines.split('\n').find((line) => line.includes('myself')) ?? '';
      if (/ 0-\d+/.test(own)) return node;
    }
    return first;
  }
}
