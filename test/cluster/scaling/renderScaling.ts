import { join } from 'node:path';
import { kubectl } from '@turnpike/cluster/kubectl';
import { type Manifest, parseManifests } from '@turnpike/cluster/overlay';
import type { Region } from '@turnpike/config/region';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { type ScaledObject, scaledObjectSchema } from './scaledObject.ts';

/** Renders the scaling of a region. The region of this machine has the same namespace and services. */
export async function renderScaling(region: Region): Promise<{ scaledObjects: ScaledObject[]; podMonitor: Manifest }> {
  const manifests = parseManifests(await kubectl(['kustomize', join(repositoryRoot, 'k8s/overlays', region)]));
  const ofKind = (wanted: string): Manifest[] => manifests.filter(({ kind }) => kind === wanted);
  const [podMonitor] = ofKind('PodMonitor');
  if (!podMonitor) throw new Error(`region ${region} has no PodMonitor`);
  return { scaledObjects: ofKind('ScaledObject').map((object) => scaledObjectSchema.parse(object)), podMonitor };
}
