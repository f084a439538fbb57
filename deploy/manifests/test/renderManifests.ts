import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { parseAllDocuments } from 'yaml';

const TOOLS = process.env.TURNPIKE_TEST_MANIFEST_TOOLS;
export const hasKustomize = TOOLS !== undefined;
export const SCHEMAS_FOLDER = join(TOOLS ?? '', 'schemas');

export interface Named {
  name: string;
}
export interface Container extends Named {
  image: string;
  env?: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[];
  envFrom?: { configMapRef?: Named; secretRef?: Named }[];
  ports?: { name: string; containerPort: number }[];
  resources: { requests?: Record<string, string>; limits?: Record<string, string> };
  securityContext?: unknown;
  volumeMounts?: { name: string; mountPath: string }[];
}
export interface PodSpec {
  serviceAccountName?: string;
  automountServiceAccountToken?: boolean;
  enableServiceLinks?: boolean;
  terminationGracePeriodSeconds?: number;
  securityContext?: unknown;
  containers: Container[];
  volumes?: { name: string; configMap?: Named; emptyDir?: { sizeLimit?: string } }[];
}
/** An object of Kubernetes, with the fields that these tests look at. */
export interface Rendered {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  data?: Record<string, string>;
  spec?: {
    selector?: Record<string, string> | { matchLabels?: Record<string, string> };
    template?: { metadata: { labels: Record<string, string> }; spec: PodSpec };
    volumeClaimTemplates?: { metadata: Named }[];
    [field: string]: unknown;
  };
  [field: string]: unknown;
}

/** Returns the YAML that kustomize makes of a folder below `k8s/`. Throws its message if it fails. */
export function buildManifests(kustomize: string, folder: string): string {
  const { status, stdout, stderr, error } = spawnSync(kustomize, ['build', folder], {
    cwd: join(repositoryRoot, 'k8s'),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`kustomize build ${folder}: ${error?.message ?? stderr}`);
  return stdout;
}

/** Returns the objects that kustomize makes of a folder below `k8s/`. Throws its message if it fails. */
export const renderFolder = (folder: string): Rendered[] =>
  parseAllDocuments(buildManifests(join(TOOLS ?? '', 'kustomize'), folder)).map((document) => document.toJS());

/** Returns the objects of a folder with further components. */
export function renderWith(folder: string, components: string[]): Rendered[] {
  const place = mkdtempSync(join(repositoryRoot, 'k8s', '.test-'));
  try {
    const toPath = (name: string): string => relative(place, join(repositoryRoot, 'k8s', name));
    const kustomization = { resources: [toPath(folder)], components: components.map(toPath) };
    writeFileSync(join(place, 'kustomization.yaml'), JSON.stringify(kustomization));
    return renderFolder(place);
  } finally {
    rmSync(place, { recursive: true });
  }
}

export interface Workload {
  kind: string;
  name: string;
  labels: Record<string, string>;
  pod: PodSpec;
  manifest: Rendered;
}

/** Lists the objects that run pods: Deployments, StatefulSets and Jobs. */
export const workloadsOf = (manifests: Rendered[]): Workload[] =>
  manifests.flatMap((manifest) => {
    const template = manifest.spec?.template;
    if (!template) return [];
    const { kind, metadata } = manifest;
    return [{ kind, name: metadata.name, labels: template.metadata.labels, pod: template.spec, manifest }];
  });
