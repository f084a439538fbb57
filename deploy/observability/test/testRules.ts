import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runToEnd } from '@turnpike/local-stack/process/runToEnd';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { stringify } from 'yaml';
import { pathOfRules, RULE_FILES } from '../src/observabilityFiles.ts';
import { inTemporaryFolder } from './checkRules.ts';
import { HEALTHY, stays } from './healthyRegion.ts';
import { ALERTS, GLOBAL_ALERTS } from './readRules.ts';

export const FILES = RULE_FILES.map((file) => join(repositoryRoot, pathOfRules(file)));

/** The heading of the operators' page that is called as the alert is. */
export const toRunbook = (alert: string): string => `docs/alerts.md#${alert.toLowerCase()}`;

export interface Case {
  alert: string;
  /** Series that differ from those of a healthy region. */
  series: Record<string, string>;
  /** Text of the alert, and its labels beside its severity. */
  says: string;
  labels?: Record<string, string>;
  /** When alerts are looked at, where that is not soon enough for this one. */
  lookedAt?: string;
  /** Another alert that the same sign raises, in the same words where none are given. */
  also?: { alert: string; says?: string; labels?: Record<string, string> };
}

/** An existing gauge without a known value. The notation of promtool's series has no word for it. */
export const UNKNOWN = 'NaN';

/** When alerts are looked at: late enough for each `for` but that of a case that says another time. */
const LOOKED_AT = '25m';

export const toTest = (
  name: string,
  series: Record<string, string>,
  fires: Pick<Case, 'alert' | 'says' | 'labels'>[] = [],
  lookedAt = LOOKED_AT,
) => ({
  name,
  interval: '1m',
  input_series: Object.entries({ ...HEALTHY, ...series }).map(([key, values]) =>
    values === UNKNOWN ? { series: `of_${key}`, values: stays(0) } : { series: key, values },
  ),
  alert_rule_test: [...ALERTS, ...GLOBAL_ALERTS].map(({ alert, labels: { severity } }) => ({
    eval_time: lookedAt,
    alertname: alert,
    exp_alerts: fires
      .filter((fired) => fired.alert === alert)
      .map(({ says, labels }) => ({
        exp_labels: { ...labels, severity },
        exp_annotations: { summary: says, runbook_url: toRunbook(alert) },
      })),
  })),
});

export const toFiringTest = (it: Case) =>
  toTest(it.alert, it.series, [it, ...(it.also ? [{ says: it.says, ...it.also }] : [])], it.lookedAt);

/** Rules that make unknown values of the series that stand for them. */
const toUnknownRules = (tests: ReturnType<typeof toTest>[]) => {
  const series = tests.flatMap(({ input_series }) => input_series.map((it) => it.series));
  const metrics = new Set(series.filter((it) => it.startsWith('of_')).map((it) => it.slice(3).split('{')[0]));
  const rules = Array.from(metrics, (metric) => ({ record: metric, expr: `of_${metric} / 0` }));
  return { groups: [{ name: 'unknown', rules }] };
};

/** Throws with what Prometheus says where it fires another alert than expected, or none, or says it in other words. */
export const testRules = (tests: ReturnType<typeof toTest>[]): Promise<void> =>
  inTemporaryFolder(async (folder) => {
    const [file, unknown, global] = ['tests.yaml', 'unknown.yaml', 'global.yaml'].map((name) => join(folder, name));
    if (!file || !unknown || !global) throw new Error('no files');
    await writeFile(unknown, stringify(toUnknownRules(tests)));
    await writeFile(global, stringify({ groups: [{ name: 'global', rules: GLOBAL_ALERTS }] }));
    await writeFile(file, stringify({ rule_files: [...FILES, global, unknown], evaluation_interval: '1m', tests }));
    await runToEnd('promtool test rules', { command: 'promtool', args: ['test', 'rules', file] });
  });
