import { Button, Group, NativeSelect, Paper, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { PAGES } from '@turnpike/console-api/pages';
import { startTransition, useMemo, useRef, useState } from 'react';
import { StackedBars, useWidth } from '../charts/StackedBars.tsx';
import { toCsv } from '../csv.ts';
import { formatCount } from '../formatCount.ts';
import { useKeyNames } from '../keys/useKeyNames.ts';
import { once } from '../once.ts';
import { Empty, Failed, Loaded, Name, Page } from '../shell/states.tsx';
import { WideTable } from '../shell/WideTable.tsx';
import { useWorkspace } from '../shell/workspace.tsx';
import { type By, type Period, toDay, toPeriod, toPeriodBefore, type UsageSearch } from '../usage/period.ts';
import { usageQuery } from '../usage/readUsage.ts';
import {
  type Measure,
  measure,
  type Series,
  type Sums,
  sumTotal,
  sumUsage,
  type UsageRow,
  type UsageTable,
} from '../usage/sumUsage.ts';
import { toExactUsd } from '../usd.ts';

const RANGES = {
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  month: 'This month',
  custom: 'Days of your choice',
};
const BYS = { day: 'Day', hour: 'Hour' };
const SPLITS = { model: 'Model', key: 'Key', 'key,model': 'Model and key' };
const MEASURES: Record<Measure, string> = { cost: 'Cost', tokens: 'Tokens', requests: 'Requests', errors: 'Errors' };
/** Rows that the table shows at a time. */
const ROWS = 50;

/** The usage of a workspace and its cost: a chart, and a table with the same numbers. */
export function Usage() {
  const search = useSearch({ from: `/shell/workspace${PAGES.usage}` });
  const [openedAt] = useState(Date.now);
  const period = useMemo(() => toPeriod(search, openedAt), [search, openedAt]);
  return (
    <Page title="Usage">
      <Text c="dimmed">The calls of this workspace and their cost, by the day or hour in which they began.</Text>
      <Choices search={search} isWrong={typeof period === 'string'} />
      {typeof period === 'string' ? <Failed message={period} /> : <UsageOf period={period} search={search} />}
    </Page>
  );
}

function Choices({ search, isWrong }: { search: UsageSearch; isWrong: boolean }) {
  const navigate = useNavigate({ from: PAGES.usage });
  const { range = '7d', by = 'day', split = 'model', show = 'cost', from, to } = search;
  const change = (changed: UsageSearch) => void navigate({ search: { ...search, ...changed }, replace: true });
  return (
    <Group align="flex-start">
      <Select label="Range" names={RANGES} value={range} onChoose={(range) => change({ range })} />
      {range === 'custom' && (
        <>
          <Day label="First day" value={from} onChoose={(from) => change({ from })} />
          <Day label="Last day" value={to} isWrong={isWrong} onChoose={(to) => change({ to })} />
        </>
      )}
      {range !== '24h' && <Select label="By" names={BYS} value={by} onChoose={(by) => change({ by })} />}
      <Select label="Split by" names={SPLITS} value={split} onChoose={(split) => change({ split })} />
      <Select label="Chart of" names={MEASURES} value={show} onChoose={(show) => change({ show })} />
    </Group>
  );
}

function Select<Value extends string>({
  label,
  names,
  value,
  onChoose,
}: {
  label: string;
  names: Record<Value, string>;
  value: Value;
  onChoose: (value: Value) => void;
}) {
  const values = Object.keys(names) as Value[];
  return (
    <NativeSelect
      label={label}
      data={values.map((value) => ({ value, label: names[value] }))}
      value={value}
      onChange={({ currentTarget }) => {
        const chosen = values.find((value) => value === currentTarget.value);
        if (chosen) onChoose(chosen);
      }}
    />
  );
}

function Day({
  label,
  value = '',
  isWrong = false,
  onChoose,
}: {
  label: string;
  value?: string | undefined;
  isWrong?: boolean;
  onChoose: (day: string) => void;
}) {
  return (
    <TextInput
      label={label}
      type="date"
      defaultValue={value}
      error={isWrong}
      required
      onChange={({ currentTarget }) => {
        if (currentTarget.value !== '') onChoose(currentTarget.value);
      }}
    />
  );
}

function UsageOf({ period, search }: { period: Period; search: UsageSearch }) {
  const workspace = useWorkspace();
  const { split = 'model', show = 'cost' } = search;
  const query = useQuery(usageQuery(workspace, period, split, show));
  const before = useQuery(usageQuery(workspace, toPeriodBefore(period), 'none', show));
  // Measured while the page waits for the answer, so that the chart is drawn once.
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  return (
    <Stack gap="lg" ref={frame}>
      <Loaded query={query}>
        {(rows) => (
          <Split
            // Another choice begins at the first rows again.
            key={JSON.stringify(search)}
            rows={rows}
            before={before.data}
            period={period}
            search={search}
            width={width}
          />
        )}
      </Loaded>
    </Stack>
  );
}

/** The sums of the whole period, each beside that of the period before. */
function Totals({ now, old }: { now: Sums; old: Sums | undefined }) {
  return (
    <Group component="dl" m={0} align="stretch" aria-label="Sums of the range">
      {TOTALS.map(({ name, of, format, note }) => (
        <Paper key={name} withBorder p="sm" flex="1 1 9rem">
          <Text component="dt" size="sm" c="dimmed">
            {name}
          </Text>
          <Text component="dd" m={0} fw={600} style={{ overflowWrap: 'anywhere' }}>
            {format(of(now))}
          </Text>
          {note && (
            <Text component="dd" m={0} size="sm">
              {note(now)}
            </Text>
          )}
          <Text component="dd" m={0} size="sm" c="dimmed">
            {old ? `Before: ${format(of(old))}${toChange(of(now), of(old))}` : 'Before: not known'}
          </Text>
        </Paper>
      ))}
    </Group>
  );
}

const getShort = once(() => new Intl.NumberFormat(undefined, { notation: 'compact' }));
const formatUsd = (nano: bigint): string => {
  const [dollars = '', digits = ''] = toExactUsd(nano).split('.');
  return `$${formatCount(BigInt(dollars))}.${digits}`;
};

const TOTALS: {
  name: string;
  of: (sums: Sums) => bigint;
  format: (value: bigint) => string;
  note?: (sums: Sums) => string;
}[] = [
  { name: 'Cost', of: ({ cost }) => cost, format: formatUsd },
  {
    name: 'Prompt tokens',
    of: ({ prompt }) => prompt,
    format: formatCount,
    note: ({ cached }) => `of them cached: ${formatCount(cached)}`,
  },
  { name: 'Completion tokens', of: ({ completion }) => completion, format: formatCount },
  { name: 'Requests', of: ({ requests }) => requests, format: formatCount },
  { name: 'Errors', of: ({ errors }) => errors, format: formatCount },
];

/** The change in per cent, rounded to a tenth: ` (+12.5 %)`. */
function toChange(now: bigint, old: bigint): string {
  if (old === 0n) return '';
  const tenths = ((now - old) * 1_000n) / old;
  return ` (${tenths < 0n ? '−' : '+'}${formatCount(Math.abs(Number(tenths)) / 10)} %)`;
}

/** Usage as sums, as a chart and as a table. */
function Split({
  rows,
  before,
  period,
  search: { split = 'model', show = 'cost' },
  width,
}: {
  rows: UsageRow[];
  before: UsageRow[] | undefined;
  period: Period;
  search: UsageSearch;
  width: number;
}) {
  const { organizationId, workspaceId } = useWorkspace();
  const table = useMemo(() => sumUsage(rows, period, show), [rows, period, show]);
  const old = useMemo(() => before && sumTotal(before, toPeriodBefore(period)), [before, period]);
  const keyName = useKeyNames(table.series.flatMap(({ keyId }) => keyId ?? []));
  const names = useMemo(
    () => new Map(table.series.map((series) => [series, toName(series, keyName)])),
    [table, keyName],
  );
  const labels = useMemo(() => table.starts.map((start) => toLabels(start, period.by)), [table, period.by]);
  const stacks = useMemo(
    () =>
      [...names].map(([series, name]) => ({
        id: `${series.model}\n${series.keyId}`,
        name: <Name>{name}</Name>,
        label: name,
        values: series.sums.map((sums) => measure(sums, show)),
        total: measure(series.total, show),
      })),
    [names, show],
  );
  return (
    <>
      <Totals now={table.total} old={old} />
      {table.total.requests === 0n ? (
        <Empty>
          <Text>No call began in this range. Choose a longer one, or make a call with a key of this workspace.</Text>
          <Link to={PAGES.keys} params={{ organizationId, workspaceId }} className="link">
            Keys of this workspace
          </Link>
        </Empty>
      ) : (
        <>
          <StackedBars
            title={`${MEASURES[show]} by ${period.by} and ${SPLITS[split].toLowerCase()}`}
            width={width}
            labels={labels}
            stacks={stacks}
            format={show === 'cost' ? formatUsd : formatCount}
            formatTick={show === 'cost' ? formatUsd : (count) => getShort().format(count)}
          />
          <UsageRows table={table} labels={labels} by={period.by} split={SPLITS[split]} names={names} />
        </>
      )}
    </>
  );
}

type Names = Map<Series, string>;

function toName({ model, keyId, others }: Series, keyName: (keyId: string) => string): string {
  if (others !== null) return `${others} others`;
  return [model, keyId === null ? null : keyName(keyId)].filter((part) => part !== null).join(' · ');
}

const UTC = { timeZone: 'UTC' } as const;
const getDayShort = once(() => new Intl.DateTimeFormat(undefined, { ...UTC, day: 'numeric', month: 'short' }));
const getDayLong = once(() => new Intl.DateTimeFormat(undefined, { ...UTC, dateStyle: 'medium' }));
const getHourShort = once(
  () => new Intl.DateTimeFormat(undefined, { ...UTC, day: 'numeric', hour: '2-digit', minute: '2-digit' }),
);
const getHourLong = once(() => new Intl.DateTimeFormat(undefined, { ...UTC, dateStyle: 'medium', timeStyle: 'short' }));

const toLabels = (start: number, by: By) =>
  by === 'day'
    ? { short: getDayShort().format(start), long: getDayLong().format(start) }
    : { short: getHourShort().format(start), long: getHourLong().format(start) };

/** The numbers of the chart, the latest hour or day first, with a file of them all. */
function UsageRows({
  table,
  labels,
  by,
  split,
  names,
}: {
  table: UsageTable;
  labels: { long: string }[];
  by: By;
  split: string;
  names: Names;
}) {
  const [page, setPage] = useState(0);
  const lines = useMemo(() => listLines(table), [table]);
  const turnTo = (next: number) => startTransition(() => setPage(next));
  const shown = lines.slice(page * ROWS, (page + 1) * ROWS);
  const save = () => {
    const first = toDay(table.starts[0] ?? 0);
    saveCsv(`usage-${first}-${toDay(table.starts.at(-1) ?? 0)}.csv`, toUsageCsv(lines, table.starts, split, names));
  };
  return (
    <Stack>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" role="status">
          Rows {formatCount(page * ROWS + 1)} to {formatCount(page * ROWS + shown.length)} of{' '}
          {formatCount(lines.length)}. Times are UTC.
        </Text>
        <Button variant="default" onClick={save}>
          Download all rows as CSV
        </Button>
      </Group>
      <WideTable label="Usage" columns={[BYS[by], split, ...COLUMNS.map(({ name }) => name)]}>
        {shown.map(({ index, series, sums }) => (
          <tr key={`${index} ${series.model} ${series.keyId}`}>
            <td style={{ whiteSpace: 'nowrap' }}>{labels[index]?.long}</td>
            <td>
              <Name>{names.get(series) ?? ''}</Name>
            </td>
            {COLUMNS.map(({ name, of, format }) => (
              <td key={name} className="chart-value">
                {format(of(sums))}
              </td>
            ))}
          </tr>
        ))}
      </WideTable>
      {lines.length > ROWS && (
        <Group gap="xs" justify="flex-end">
          <Button variant="default" disabled={page === 0} onClick={() => turnTo(page - 1)}>
            Later
          </Button>
          <Button variant="default" disabled={(page + 1) * ROWS >= lines.length} onClick={() => turnTo(page + 1)}>
            Earlier
          </Button>
        </Group>
      )}
    </Stack>
  );
}

const COLUMNS: { name: string; of: (sums: Sums) => bigint; format: (value: bigint) => string }[] = [
  { name: 'Cost', of: ({ cost }) => cost, format: formatUsd },
  { name: 'Prompt tokens', of: ({ prompt }) => prompt, format: formatCount },
  { name: 'of them cached', of: ({ cached }) => cached, format: formatCount },
  { name: 'Completion tokens', of: ({ completion }) => completion, format: formatCount },
  { name: 'Requests', of: ({ requests }) => requests, format: formatCount },
  { name: 'Errors', of: ({ errors }) => errors, format: formatCount },
];

interface Line {
  /** Place of the hour or day in the table. */
  index: number;
  series: Series;
  sums: Sums;
}

function listLines({ starts, series }: UsageTable): Line[] {
  const lines: Line[] = [];
  for (let index = starts.length - 1; index >= 0; index -= 1) {
    for (const one of series) {
      const sums = one.sums[index];
      if (sums && sums.requests > 0n) lines.push({ index, series: one, sums });
    }
  }
  return lines;
}

const toUsageCsv = (lines: Line[], starts: number[], split: string, names: Names): string =>
  toCsv([
    ['Start (UTC)', split, 'Cost (USD)', ...COLUMNS.slice(1).map(({ name }) => name)],
    ...lines.map(({ index, series, sums }) => [
      new Date(starts[index] ?? 0).toISOString(),
      names.get(series) ?? '',
      { decimal: toExactUsd(sums.cost) },
      ...COLUMNS.slice(1).map(({ of }) => of(sums)),
    ]),
  ]);

/** Lets the browser save a text as a file. */
function saveCsv(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
