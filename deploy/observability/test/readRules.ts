import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GLOBAL_SERVICES } from '@turnpike/config/services';
import { parse } from 'yaml';
import { pathOfRules, RULE_FILES, repositoryRoot } from '../src/observabilityFiles.ts';

interface Recording {
  record: string;
  expr: string;
}

export interface Alert {
  /** The entry of docs/alerts.md that says what to do has this name. */
  alert: string;
  expr: string;
  /** `page`: a person has to look now. `ticket`: within a working day. */
  labels: { severity: 'page' | 'ticket' };
  annotations: { summary: string; runbook_url: string };
}

/** All rules of the region, file by file. */
export const RULES: (Recording | Alert)[] = RULE_FILES.flatMap((name) => {
  const file: { groups: { rules: (Recording | Alert)[] }[] } = parse(
    readFileSync(join(repositoryRoot, pathOfRules(name)), 'utf8'),
  );
  return file.groups.flatMap(({ rules }) => rules);
});

/** The alerts of the services that all regions have together, each from the service's own folder. */
export const GLOBAL_ALERTS: Alert[] = GLOBAL_SERVICES.flatMap((name) => {
  const path = join(repositoryRoot, 'services', name, 'deploy/monitoring/rules.yaml');
  const { spec }: { spec: { groups: { rules: Alert[] }[] } } = parse(readFileSync(path, 'utf8'));
  return spec.groups.flatMap(({ rules }) => rules);
});

export const ALERTS = RULES.filter((rule): rule is Alert => 'alert' in rule);
