import { execFile } from 'node:child_process';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runToEnd } from '../process/runToEnd.ts';
import { StackError } from '../stackError.ts';
import { hasCommand } from './installDebianPackages.ts';
import { makeOnce, toShortHash } from './makeOnce.ts';

const TIMEOUT_MS = 600_000;
const KUSTOMIZE = 'sigs.k8s.io/kustomize/kustomize/v5@v5.8.1';
/**
 * Schemas by which the API server checks objects, as files of the modules that define them: Kubernetes' own, and those of the
 * added kinds.
 */
const SCHEMAS: { module: string; files: string }[] = [
  { module: 'k8s.io/kubernetes@v1.36.3', files: 'api/openapi-spec/swagger.json' },
  { module: 'sigs.k8s.io/gateway-api@v1.6.3', files: 'config/crd/standard' },
  { module: 'github.com/kedacore/keda/v2@v2.21.0', files: 'config/crd/bases' },
  { module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0', files: 'example/prometheus-operator-crd' },
  { module: 'github.com/external-secrets/external-secrets@v1.3.2', files: 'config/crds/bases' },
];

/**
 * Returns the folder with the tools that check manifests: `kustomize`, and the schemas in `schemas/`. It is made once
 * per machine and list of versions, from the Go module proxy into the user's cache. `say` is called before long steps.
 * Throws a `StackError` without Go, or without access to the proxy.
 */
export async function ensureManifestTools(say: (line: string) => void): Promise<string> {
  return makeOnce(`manifest-tools-${toShortHash(JSON.stringify([KUSTOMIZE, SCHEMAS]))}`, async (folder) => {
    if (!hasCommand('go'))
      throw new StackError('Go 1.24 or later is missing, which compiles kustomize: install it from https://go.dev/dl.');
    say('Compiling kustomize from its Go module, once for this machine…');
    const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0' };
    await runToEnd('compiling kustomize', { command: 'go', args: ['install', KUSTOMIZE], env, timeoutMs: TIMEOUT_MS });
    const schemas = join(folder, 'schemas');
    await mkdir(schemas);
    for (const { module, files } of SCHEMAS) {
      const source = join(await downloadModule(module), files);
      await cp(source, join(schemas, source.endsWith('.json') ? 'swagger.json' : ''), { recursive: true });
    }
  });
}

/** The folder of a module's sources. */
async function downloadModule(module: string): Promise<string> {
  const download = promisify(execFile)('go', ['mod', 'download', '-json', module], { timeout: TIMEOUT_MS });
  const { stdout } = await download.catch((error: { stdout?: string; message: string }) => {
    throw new StackError(`fetching the Go module ${module} failed: ${error.stdout || error.message}`);
  });
  return JSON.parse(stdout).Dir;
}
