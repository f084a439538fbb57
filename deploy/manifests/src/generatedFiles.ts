import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { REGIONS } from '@turnpike/config/region';
import { entryOf, SERVICE_NAMES } from '@turnpike/config/services';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { stringify } from 'yaml';
import { type Manifest, toFlowRows, toNamespacePolicies, toServicePolicies } from './networkPolicies.ts';
import { listSecrets, toExternalSecrets } from './secrets.ts';
import {
  readSimulatedModels,
  toComposeEnginesFile,
  toEnginesFile,
  toSimulatorEnvironment,
} from './simulatedEngines.ts';

const HEAD = '# Written by npm run manifests.\n';
/** Why an exception stands in the file. */
const HEAD_OF_REGION = `${HEAD}# Stores and engines are made elsewhere: kube-score finds no pods that their policies select, and is told not to look.
`;
const README = 'k8s/README.md';

/** Renders the files that `k8s/` and Compose generate: each path in the repository with its text. */
export async function renderGeneratedFiles(): Promise<Record<string, string>> {
  const policies = SERVICE_NAMES.map((name) => [
    `${entryOf(name).scope === 'region' ? `k8s/base/${name}` : `services/${name}/deploy`}/network-policy.yaml`,
    toText(toServicePolicies(name)),
  ]);
  const models = await readSimulatedModels();
  const engines = REGIONS.map((region) => [
    `k8s/overlays/local/${region}/files/engines.json`,
    toEnginesFile(models, { namespace: `turnpike-${region}` }),
  ]);
  return Object.fromEntries([
    ...policies,
    ['k8s/base/region/network-policy.yaml', toText(toNamespacePolicies('region'), HEAD_OF_REGION)],
    ['k8s/base/global/network-policy.yaml', toText(toNamespacePolicies('global'), HEAD_OF_REGION)],
    ['k8s/components/external-secrets/external-secrets.yaml', toText(toExternalSecrets('region'))],
    ['k8s/overlays/global/external-secrets.yaml', toText(toExternalSecrets('global'))],
    ['k8s/local/files/engines.env', toSimulatorEnvironment(models)],
    ...engines,
    ['deploy/compose/engines.json', toComposeEnginesFile(models)],
    [README, renderReadme(await read(README))],
  ]);
}

const read = (file: string): Promise<string> => readFile(join(repositoryRoot, file), 'utf8');

const toText = (manifests: Manifest[], head = HEAD): string =>
  head + manifests.map((manifest) => stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n');

function renderReadme(page: string): string {
  const flows = formatRows(['from', 'to', 'port', 'for'], toFlowRows());
  const secrets = formatRows(
    ['Secret', 'keys'],
    Object.entries(listSecrets('region')).map(([name, keys]) => [
      `\`${name}\``,
      keys.map((key) => `\`${key}\``).join(', '),
    ]),
  );
  return replacePart(replacePart(page, 'flows', flows), 'secrets', secrets);
}

/** Puts a generated part between its two marks. Throws when the page does not have them. */
function replacePart(page: string, part: string, content: string): string {
  const start = `<!-- ${part}: written by npm run manifests -->`;
  const end = `<!-- end of ${part} -->`;
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${README} lacks the marks of its part "${part}"`);
  return `${page.slice(0, from + start.length)}\n\n${content}\n\n${page.slice(to)}`;
}

const formatRows = (head: string[], rows: string[][]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
