import { stringify } from 'yaml';
import { authBoard } from './dashboards/auth.ts';
import { type Board, toDashboard } from './dashboards/board.ts';
import { booksBoard } from './dashboards/books.ts';
import { catalogBoard } from './dashboards/catalog.ts';
import { edgeBoard } from './dashboards/edge.ts';
import { fleetBoard } from './dashboards/fleet.ts';
import { inferenceBoard } from './dashboards/inference.ts';
import { mediaBoard } from './dashboards/media.ts';
import { fleetRules } from './rules/fleet.ts';
import { mediaRules } from './rules/media.ts';
import { moneyRules } from './rules/money.ts';
import { objectiveRules } from './rules/objectives.ts';
import type { Alert, Recording, RuleFile } from './rules/rule.ts';

export const BOARDS = [fleetBoard, edgeBoard, inferenceBoard, mediaBoard, booksBoard, authBoard, catalogBoard];
export const RULE_FILES = [objectiveRules, moneyRules, fleetRules, mediaRules];

const FOLDER = 'deploy/observability';
const RULES_OF_KUBERNETES = 'k8s/components/monitoring/prometheus-rules.yaml';
const WRITTEN = `# Written by npm run observability, from ${FOLDER}/src.\n`;

/** What Prometheus and Grafana read, each file by its path in the repository. */
export function writeObservability(): Record<string, string> {
  return {
    ...Object.fromEntries(BOARDS.map((board) => [pathOfBoard(board), toJson(toDashboard(board))])),
    ...Object.fromEntries(RULE_FILES.map((file) => [pathOfRules(file), WRITTEN + toYaml(toGroups(file))])),
    [`${FOLDER}/kustomization.yaml`]: WRITTEN + toYaml(toDashboardsOfKubernetes()),
    [RULES_OF_KUBERNETES]: WRITTEN + RULE_FILES.map((file) => toYaml(toPrometheusRule(file))).join('---\n'),
  };
}

const fileOfBoard = ({ id }: Pick<Board, 'id'>): string => `dashboards/${id}.json`;
const pathOfBoard = ({ id }: Board): string => `${FOLDER}/${fileOfBoard({ id })}`;
export const pathOfRules = ({ name }: RuleFile): string => `${FOLDER}/rules/${name}.yaml`;

const toYaml = (value: unknown): string => stringify(value, { lineWidth: 130 });

/** One panel a line, so that a change of one is a change of a line. */
function toJson({ panels = [], ...rest }: ReturnType<typeof toDashboard>): string {
  const lines = Object.entries(rest).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`);
  const panelLines = panels.map((panel) => JSON.stringify(panel)).join(',\n');
  return `{\n${lines.join(',\n')},\n"panels": [\n${panelLines}\n]\n}\n`;
}

const toGroups = ({ name, rules }: RuleFile) => ({ groups: [{ name: `turnpike-${name}`, rules: rules.map(toRule) }] });

const toPrometheusRule = (file: RuleFile) => ({
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'PrometheusRule',
  metadata: { name: `turnpike-${file.name}`, labels: { 'app.kubernetes.io/part-of': 'turnpike' } },
  spec: toGroups(file),
});

/** What kustomize makes a ConfigMap of, by whose label Grafana's sidecar finds it. */
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

function toRule(rule: Recording | Alert) {
  if ('record' in rule) return rule;
  const { alert, expr, for: holds, severity, summary } = rule;
  return {
    alert,
    expr,
    ...(holds !== undefined && { for: holds }),
    labels: { severity },
    annotations: { summary, runbook_url: toRunbook(alert) },
  };
}

/** Where docs/operations.md says what to do: the heading that is called as the alert is. */
export const toRunbook = (alert: string): string => `docs/operations.md#${alert.toLowerCase()}`;
