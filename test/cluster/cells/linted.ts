import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SCRIPTS } from '@turnpike/cluster/paths';
import { runScript } from '@turnpike/cluster/runScript';
import { ensureManifestTools } from '@turnpike/local-stack/tools/ensureManifestTools';
import type { Cell } from '../cell.ts';
import { conforms, keepsPolicy, scores, type Verdict, verifiesPolicy } from '../manifests/readByLinters.ts';
import { renderOverlays } from '../manifests/renderOverlays.ts';

export const linted: Cell = {
  name: 'linted',
  does: 'has kubeconform, kube-score and conftest read every overlay, as it stands and with the other of components that exclude each other; without a cluster',
  holds:
    'no field that this version of Kubernetes does not know, nothing critical that is not excepted where it stands, and no rule of k8s/policy broken',
  async run({ check, note, doing }) {
    const say = (line: string): void => doing(`linted: ${line}`);
    await runScript('tools', { args: ['kubeconform', 'kube-score', 'conftest'], say });
    const tools = await ensureManifestTools(say);
    const schemas = await writeSchemas(join(tools, 'schemas'), say);
    const version = await readKubernetesVersion();

    const judge = (what: string, by: string, { looked, problems }: Verdict): string => {
      check(looked > 0, `${what}: ${by} looked at nothing`);
      for (const problem of problems) check(false, `${what}: ${by}: ${problem}`);
      return `${looked} by ${by}`;
    };
    note(`k8s/policy: ${judge('k8s/policy', 'its own tests', verifiesPolicy())}`);
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-linted-'));
    try {
      for (const [index, { name, yaml }] of renderOverlays(join(tools, 'kustomize')).entries()) {
        say(name);
        const file = join(folder, `${index}.yaml`);
        writeFileSync(file, yaml);
        const looked = [
          judge(name, 'kubeconform', conforms(file, schemas)),
          judge(name, 'kube-score', scores(file, version)),
          judge(name, 'conftest', keepsPolicy(file)),
        ];
        note(`${name}: ${looked.join(', ')}`);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

/** Writes the schemas for kubeconform: those of this Kubernetes, and of the kinds that the manifests add. */
async function writeSchemas(folder: string, say: (line: string) => void): Promise<string> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).map((name) => join(folder, name));
  let location = '';
  const read = (line: string): void => {
    if (line.startsWith('/')) location = line;
    else say(line);
  };
  await runScript('schemas', { args: files, say: read });
  return location;
}

/** Such as v1.36: the one that the cluster is made of. */
async function readKubernetesVersion(): Promise<string> {
  const version = /^KUBERNETES_VERSION=(v\d+\.\d+)/m.exec(await readFile(`${SCRIPTS}lib.sh`, 'utf8'))?.[1];
  if (version === undefined) throw new Error('lib.sh names no version of Kubernetes');
  return version;
}
