import type { Metric } from './readMetrics.ts';
import type { ServiceSettings, Setting } from './readSettings.ts';

/** Units by the end of a variable's name. */
const UNITS: [RegExp, string][] = [
  [/_MS$/, 'ms'],
  [/_BYTES$/, 'bytes'],
  [/_PER_MINUTE$/, 'a minute'],
];

/** The settings as Markdown: a table for all services, then one for each, and one of its limits. */
export function formatSettings(services: ServiceSettings[]): string {
  return services
    .filter(({ settings }) => settings.length > 0)
    .flatMap(({ service, settings, limits }) => [
      `### ${service ?? 'Every service'}`,
      formatSettingRows('variable', settings),
      ...(limits.length > 0 ? [formatSettingRows('entry of `LIMITS`', limits)] : []),
    ])
    .join('\n\n');
}

function formatSettingRows(head: string, settings: Setting[]): string {
  const rows = settings.map((setting) => [`\`${setting.name}\``, toFallback(setting), toEffect(setting)]);
  return formatRows([head, 'default', 'effect'], rows);
}

/** The metrics as one Markdown table. */
export function formatMetrics(metrics: Metric[]): string {
  const rows = metrics.map(({ name, kind, description }) => [`\`${name}\``, kind, description]);
  return formatRows(['metric', 'kind', 'meaning'], rows);
}

function toFallback({ name, fallback }: Setting): string {
  if (fallback === undefined) return '**required**';
  if (fallback === null) return 'not set';
  const unit = UNITS.find(([pattern]) => pattern.test(name))?.[1];
  return unit === undefined ? `\`${fallback}\`` : `\`${fallback}\` ${unit}`;
}

const toEffect = ({ effect, choices }: Setting): string =>
  choices.length === 0 ? effect : `${effect} One of ${choices.map((choice) => `\`${choice}\``).join(', ')}.`;

/** Rows as a Markdown table. */
export function formatRows(head: string[], rows: string[][]): string {
  return [head, head.map(() => '---'), ...rows]
    .map((row) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');
}
