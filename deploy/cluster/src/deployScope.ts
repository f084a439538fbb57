import { setTimeout as pause } from 'node:timers/promises';
import type { Scope } from '@turnpike/config/region';
import { StackError } from '@turnpike/local-stack/stackError';
import { type ClusterSecrets, toSecretObjects } from './clusterSecrets.ts';
import { describeTrouble } from './describeTrouble.ts';
import { kubectl } from './kubectl.ts';
import { buildOverlay, type Manifest, toPhases, withDigests } from './overlay.ts';
import { namespaceOf } from './paths.ts';
import { isReady, listWorkloads } from './workloads.ts';

const POLL_MS = 500;
/** Longest from one workload that became ready to the next. */
const PATIENCE_MS = 180_000;

export interface DeployOptions {
  secrets: ClusterSecrets;
  /** The digest of each image's archive, by the image's name. */
  digests: ReadonlyMap<string, string>;
  /** Called when a workload has become ready, `tookMs` after the start. */
  onReady: (name: string, tookMs: number) => void;
}

/**
 * Applies a scope's overlay, and resolves when every workload of it is ready. The order is that of an upgrade: stores and engines, then
 * migrations, then services. Throws a `StackError` that names the unhealthy pods if no more workload becomes ready.
 */
export async function deployScope(scope: Scope, { secrets, digests, onReady }: DeployOptions): Promise<void> {
  const namespace = namespaceOf(scope);
  const startedAt = performance.now();

  async function untilReady(wanted: readonly Manifest[]): Promise<void> {
    const missing = new Set(wanted.filter(isWorkload).map(toName));
    let heardAt = performance.now();
    while (missing.size > 0) {
      for (const workload of (await listWorkloads(namespace)).filter(isReady)) {
        if (!missing.delete(toName(workload))) continue;
        heardAt = performance.now();
        onReady(workload.metadata.name, heardAt - startedAt);
      }
      if (performance.now() - heardAt > PATIENCE_MS)
        throw new StackError(
          `Nothing more became ready in ${namespace} for ${PATIENCE_MS / 1_000} s; missing: ${[...missing].join(', ')}.\n${await describeTrouble(namespace)}`,
        );
      if (missing.size > 0) await pause(POLL_MS);
    }
  }

  const manifests = (await buildOverlay(scope)).map((manifest) => withDigests(manifest, digests));
  const { namespaces, others, migrations, services } = toPhases(manifests);
  await applyObjects(namespaces);
  await applyObjects([...toSecretObjects(scope, secrets), ...others]);
  await untilReady(others);
  // A Job cannot be changed, and one that has run says nothing of the version to come.
  await kubectl(['delete', 'job', '--all', '-n', namespace]);
  await applyObjects(migrations);
  await untilReady(migrations);
  await applyObjects(services);
  await untilReady(services);
}

/** Makes objects, or changes them to what is said here. */
export async function applyObjects(objects: readonly object[]): Promise<void> {
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  await kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], JSON.stringify(list));
}

const WORKLOADS = new Set(['Deployment', 'StatefulSet', 'Job']);
const isWorkload = ({ kind }: Manifest): boolean => WORKLOADS.has(kind);

const toName = ({ kind, metadata }: { kind: string; metadata: { name: string } }): string =>
  `${kind.toLowerCase()}/${metadata.name}`;
