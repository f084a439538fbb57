import { readFileSync } from 'node:fs';
import { REGION_SERVICES, SERVICE_NAMES } from '@turnpike/config/services';
import { parse } from 'yaml';
import { z } from 'zod';
import { readAlertLimit } from './alertLimits.ts';

/** One query of a panel. Its legend may name labels that the query keeps: `{{model}}`. */
interface Line {
  expr: string;
  legend: string;
}

export interface Panel {
  title: string;
  unit: z.output<typeof unitSchema>;
  says?: string | undefined;
  /** Drawn as a line: the alert that the panel names is raised above it. */
  limit?: number | undefined;
  lines: Line[];
}

/** A dashboard in our own words: rows of panels, three abreast. */
export interface Board {
  /** Name of the file and, after `turnpike-`, id of the dashboard: a second import replaces the first. */
  id: string;
  title: string;
  /** Choices at the top: a label by its values in a metric. Queries name it `$model`. */
  variables: { label: string; metric: string }[];
  rows: { title: string; panels: Panel[] }[];
}

/** Units by Grafana's names; `short` is a bare number. */
const unitSchema = z.enum(['s', 'short', 'reqps', 'percentunit', 'bytes', 'Bps', 'currencyUSD']);
/** A panel's unit, perhaps a description and the alert whose limit is drawn, and a query for each legend. */
const panelSchema = z
  .object({ unit: unitSchema, says: z.string().optional(), alert: z.string().optional() })
  .catchall(z.string());
const boardSchema = z.strictObject({
  title: z.string(),
  variables: z.record(z.string(), z.string()).default({}),
  /** The service whose own rows of `service.yaml` follow. */
  service: z.enum(SERVICE_NAMES).optional(),
  rows: z.record(z.string(), z.record(z.string(), panelSchema)),
});

/** Reads `boards/<id>.yaml`. */
export function readBoard(id: string): Board {
  const { title, variables, service, rows } = boardSchema.parse(readYaml(id));
  const { rows: serviceRows } = boardSchema.omit({ title: true }).parse(readYaml('service', service));
  return {
    id,
    title,
    variables: Object.entries(variables).map(([label, metric]) => ({ label, metric })),
    rows: Object.entries({ ...rows, ...(service && serviceRows) }).map(([row, panels]) => ({
      title: row,
      panels: Object.entries(panels).map(([panel, { unit, says, alert, ...lines }]) => ({
        ...{ title: panel, unit, says, limit: alert === undefined ? undefined : readAlertLimit(alert) },
        lines: Object.entries(lines).map(([legend, expr]) => ({ legend, expr })),
      })),
    })),
  };
}

/** Reads a file of `boards`, with the service's name, and those of a region's services, in their places. */
function readYaml(name: string, service = ''): unknown {
  const text = readFileSync(new URL(`../boards/${name}.yaml`, import.meta.url), 'utf8');
  return parse(text.replaceAll('"SERVICES"', `"${REGION_SERVICES.join('|')}"`).replaceAll('"SERVICE"', `"${service}"`));
}
