import { readSelectors } from '../../../deploy/observability/test/promql.ts';
import { ALERTS, GLOBAL_ALERTS } from '../../../deploy/observability/test/readRules.ts';
import { testRules } from '../../../deploy/observability/test/testRules.ts';
import type { Scrape } from './scrape.ts';

/** Later than each alert of the table. */
const LOOKED_AT = '25m';
const MINUTES = 30;

/** Whether Prometheus fires an alert if what grew between two scrapes grows on, and all else stays. */
export async function doesFire(name: string, earlier: Scrape, later: Scrape): Promise<boolean> {
  const rule = [...ALERTS, ...GLOBAL_ALERTS].find(({ alert }) => alert === name);
  if (!rule) throw new Error(`there is no alert ${name}`);
  const asked = new Set(readSelectors(rule.expr).map(({ series }) => series));
  const minutes = (later.at - earlier.at) / 60_000;
  const series = Array.from(later.values)
    .filter(([key]) => asked.has(key.slice(0, key.indexOf('{'))))
    .map(([key, value]) => {
      const growth = key.startsWith('up{') ? 0 : (value - (earlier.values.get(key) ?? value)) / minutes;
      return Number.isFinite(value)
        ? { series: key, values: `${value.toFixed(6)}+${Math.max(0, growth).toFixed(6)}x${MINUTES}` }
        : { series: `of_${key}`, values: `0x${MINUTES}` };
    });
  const test = {
    name,
    interval: '1m',
    input_series: series,
    alert_rule_test: [{ eval_time: LOOKED_AT, alertname: name, exp_alerts: [] }],
  };
  try {
    await testRules([test]);
    return false;
  } catch (error) {
    // Prometheus' words for one that fires and is not expected.
    if (String(error).includes(`alertname: ${name}`)) return true;
    throw error;
  }
}
