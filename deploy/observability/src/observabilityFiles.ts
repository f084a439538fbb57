import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GLOBAL_SERVICES } from '@turnpike/config/services';
import { stringify } from 'yaml';
import { type Board, readBoard } from './board.ts';
import { toDashboard } from './toDashboard.ts';

/** Files of `boards/`, which are written by hand. */
export const BOARDS = ['fleet', 'edge', 'inference', 'media', 'books', 'auth', 'catalog'].map(readBoard);
/** The boards of the services that all regions have together. */
export const GLOBAL_BOARDS = GLOBAL_SERVICES.map(readBoard);
/** Files of `rules/`, which are written by hand. */
export const RULE_FILES = ['objectives', 'money', 'fleet', 'media'];

export const repositoryRoot = fileURLToPath(new URL('../../..', import.meta.url));
const FOLDER = 'deploy/observability';
const RULES_OF_KUBERNETES = 'k8s/components/monitoring/prometheus-rules.yaml';
const WRITTEN = `# Written by npm run observability, from ${FOLDER}.\n`;

/** Makes the files for Prometheus and Grafana, each by its path in the repository. */
export function writeObservability(): Record<string, string> {
  return {
    ...Object.fromEntries(BOARDS.map((board) => [pathOfBoard(board), toJson(toDashboard(board))])),
    ...Object.fromEntries(
      GLOBAL_BOARDS.map((board) => [
        `services/${board.id}/deploy/monitoring/dashboard.json`,
        toJson(toDashboard(board)),
      ]),
    ),
    [`${FOLDER}/kustomization.yaml`]: WRITTEN + toYaml(toDashboardsOfKubernetes()),
    [RULES_OF_KUBERNETES]: WRITTEN + RULE_FILES.map(toPrometheusRule).join('---\n'),
  };
}

const fileOfBoard = ({ id }: Pick<Board, 'id'>): string => `dashboards/${id}.json`;
const pathOfBoard = ({ id }: Board): string => `${FOLDER}/${fileOfBoard({ id })}`;
export const pathOfRules = (name: string): string => `${FOLDER}/rules/${name}.yaml`;

const toYaml = (value: unknown): string => stringify(value, { lineWidth: 130 });

/** One panel a line, so that a change of one is a change of a line. */
function toJson({ panels = [], ...rest }: ReturnType<typeof toDashboard>): string {
  const lines = Object.entries(rest).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`);
  const panelLines = panels.map((panel) => JSON.stringify(panel)).join(',\n');
  return `{\n${lines.join(',\n')},\n"panels": [\n${panelLines}\n]\n}\n`;
}

function toPrometheusRule(name: string): string {
  const object = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: `turnpike-${name}`, labels: { 'app.kubernetes.io/part-of': 'turnpike' } },
  };
  const groups = readFileSync(join(repositoryRoot, pathOfRules(name)), 'utf8');
  return `${toYaml(object)}spec:\n${groups.replace(/^(?=.)/gm, '  ')}`;
}

/** The Kustomization of the dashboards' ConfigMap. Grafana's sidecar finds the ConfigMap by its label. */
const toDashboardsOfKubernetes = () => ({
  apiVersion: 'kustomize.config.k8s.io/v1beta1',
  kind: 'Kustomization',
  configMapGenerator: [
    {
      name: 'turnpike-dashboards',
      files: BOARDS.map(fileOfBoard),
      options: { labels: { grafana_dashboard: '1' }, disableNameSuffixHash: true },
    },
  ],
});
