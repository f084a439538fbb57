import type { Scope } from '@turnpike/config/region';
import { SERVICE_NAMES } from '@turnpike/config/services';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { kubectl } from './kubectl.ts';
import { overlayOf } from './paths.ts';

const podTemplateSchema = z.looseObject({
  metadata: z.looseObject({ annotations: z.record(z.string(), z.string()).optional() }).optional(),
  spec: z.looseObject({ containers: z.array(z.looseObject({ image: z.string() })) }),
});
const manifestSchema = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ template: z.unknown().optional() }).optional(),
});
export type Manifest = z.output<typeof manifestSchema>;

/** Returns the manifests that `kubectl kustomize` builds from a scope's overlay. */
export async function buildOverlay(scope: Scope): Promise<Manifest[]> {
  return parseManifests(await kubectl(['kustomize', overlayOf(scope)]));
}

export const parseManifests = (text: string): Manifest[] =>
  parseAllDocuments(text).map((document) => manifestSchema.parse(document.toJS()));

/** A scope's objects, in the order in which they are applied. */
export interface Phases {
  namespaces: Manifest[];
  /** Stores, engines, and all that is no workload. */
  others: Manifest[];
  migrations: Manifest[];
  services: Manifest[];
}

export function toPhases(manifests: readonly Manifest[]): Phases {
  const phases: Phases = { namespaces: [], others: [], migrations: [], services: [] };
  for (const manifest of manifests) phases[toPhase(manifest)].push(manifest);
  return phases;
}

const isService = (name: string): boolean => SERVICE_NAMES.some((service) => service === name);

function toPhase({ kind, metadata: { name } }: Manifest): keyof Phases {
  if (kind === 'Namespace') return 'namespaces';
  if (kind === 'Job') return 'migrations';
  return (kind === 'Deployment' || kind === 'StatefulSet') && isService(name) ? 'services' : 'others';
}

/**
 * Adds the digests of its images to a workload, so that a changed image of the same name causes a rollout. Returns any other manifest
 * unchanged.
 */
export function withDigests(manifest: Manifest, digests: ReadonlyMap<string, string>): Manifest {
  const template = podTemplateSchema.safeParse(manifest.spec?.template).data;
  if (!template) return manifest;
  const found = template.spec.containers.flatMap(({ image }) => digests.get(image) ?? []);
  const annotations = { ...template.metadata?.annotations, 'turnpike.local/image-digests': found.join(' ') };
  return {
    ...manifest,
    spec: { ...manifest.spec, template: { ...template, metadata: { ...template.metadata, annotations } } },
  };
}
