import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';

const RULES = new URL('../rules/', import.meta.url);
/** The number that ends an expression, and that its value is above while the alert is raised. */
const LIMIT = /> (\d+(?:\.\d+)?)\)?$/;

interface RuleFile {
  groups: { rules: { alert?: string; expr: string }[] }[];
}

/** Returns the limit of an alert, as its expression in `rules/` ends. Throws if there is no such alert, or it ends otherwise. */
export function readAlertLimit(alert: string): number {
  for (const file of readdirSync(RULES)) {
    const { groups }: RuleFile = parse(readFileSync(new URL(file, RULES), 'utf8'));
    const limit = groups
      .flatMap(({ rules }) => rules)
      .find((rule) => rule.alert === alert)
      ?.expr.match(LIMIT)?.[1];
    if (limit !== undefined) return Number(limit);
  }
  throw new Error(`${alert} is no alert whose expression ends in a limit`);
}
