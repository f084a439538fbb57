import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';

/** What kustomize makes of a folder below `k8s/`, as YAML. Throws what it says where it cannot. */
export function buildManifests(kustomize: string, folder: string): string {
  const { status, stdout, stderr, error } = spawnSync(kustomize, ['build', folder], {
    cwd: join(repositoryRoot, 'k8s'),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`kustomize build ${folder}: ${error?.message ?? stderr}`);
  return stdout;
}
