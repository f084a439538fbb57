import { Text } from '@mantine/core';
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  type RefObject,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { listTicks } from './ticks.ts';
import './charts.css';

const HEIGHT = 240;
const TOP = 10;
const BOTTOM = 24;
const AXIS_WIDTH = 72;
/** Narrowest bar with its gap. More bars than fit are scrolled. */
const LEAST_STEP = 4;
const LABEL_WIDTH = 80;
/** Padding of the bars, for the outline of the focus. */
const PADDING = 2;

interface Stack {
  id: string;
  name: ReactNode;
  /** The name as text, for a screen reader. */
  label: string;
  values: bigint[];
  total: bigint;
}

/**
 * A chart of stacked bars, one for each label. A pointer or the arrow keys choose a bar, whose values the legend then shows in place of
 * the totals. A screen reader gets the bars as a slider. The values are not negative.
 */
export function StackedBars({
  title,
  width,
  labels,
  stacks,
  format,
  formatTick,
}: {
  title: string;
  /** Width of the chart in pixels, as of `useWidth`. */
  width: number;
  /** A short label of each bar for the axis, and a long one. */
  labels: { short: string; long: string }[];
  /** The colours suffice for 9. Other labels and stacks are drawn anew. */
  stacks: Stack[];
  format: (value: bigint) => string;
  formatTick: (value: bigint) => string;
}) {
  const [given, choose] = useState<number>();
  const count = labels.length;
  const chosen = given !== undefined && given < count ? given : undefined;
  const sums = useMemo(
    () => labels.map((_, index) => stacks.reduce((sum, { values }) => sum + (values[index] ?? 0n), 0n)),
    [labels, stacks],
  );
  const ticks = useMemo(() => listTicks(sums.reduce((most, sum) => (sum > most ? sum : most), 0n)), [sums]);
  const plotWidth = Math.max(width - AXIS_WIDTH - 2 * PADDING, count * LEAST_STEP);
  const step = plotWidth / count;
  const paths = useMemo(() => (width === 0 ? [] : listPaths(stacks, ticks, step)), [width, stacks, ticks, step]);
  const shown = chosen ?? count - 1;
  const long = labels[shown]?.long ?? '';
  return (
    <figure className="chart" aria-label={title}>
      <div className="chart-plot">
        <svg width={AXIS_WIDTH} height={HEIGHT} aria-hidden="true">
          {ticks.map((tick) => (
            <text key={String(tick)} x={AXIS_WIDTH - 6} y={toY(tick, ticks) + 4} textAnchor="end">
              {formatTick(tick)}
            </text>
          ))}
        </svg>
        <div className="chart-scroll">
          <Bars
            title={title}
            count={count}
            shown={shown}
            step={step}
            choose={choose}
            text={`${long}: ${format(sums[shown] ?? 0n)}. ${describe(stacks, shown, format)}`}
          >
            <Drawing {...{ labels, stacks, paths, chosen, ticks, plotWidth, step }} />
          </Bars>
        </div>
      </div>
      <figcaption>
        <Text size="sm" fw={600} mt="xs">
          {chosen === undefined ? 'All bars' : long}:{' '}
          {format(chosen === undefined ? sums.reduce((sum, value) => sum + value, 0n) : (sums[chosen] ?? 0n))}
        </Text>
        <ul className="chart-legend">
          {stacks.map(({ id, name, values, total }, index) => (
            <li key={id}>
              <i className={`series-${index}`} />
              <span>{name}</span>
              <span className="chart-value">{format(chosen === undefined ? total : (values[chosen] ?? 0n))}</span>
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

/** Returns the width of an element in pixels, which is known before its first frame. It is 0 for a hidden element. */
export function useWidth(ref: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref]);
  return width;
}

/** The part of the chart that takes the pointer and the keys. */
function Bars({
  title,
  count,
  shown,
  step,
  text,
  choose,
  children,
}: {
  title: string;
  count: number;
  shown: number;
  step: number;
  text: string;
  choose: (index: number | undefined) => void;
  children: ReactNode;
}) {
  const element = useRef<HTMLDivElement>(null);
  function onPointerMove({ clientX, currentTarget }: PointerEvent): void {
    const index = Math.floor((clientX - currentTarget.getBoundingClientRect().left - PADDING) / step);
    choose(index >= 0 && index < count ? index : undefined);
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === 'Escape') choose(undefined);
    const next = nextOf(event.key, shown, count);
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
    const scroll = element.current?.parentElement;
    if (scroll) scroll.scrollLeft = next * step - scroll.clientWidth / 2;
  }
  return (
    <div
      ref={element}
      className="chart-bars"
      role="slider"
      tabIndex={0}
      aria-label={`Bars of the chart: ${title}`}
      aria-valuemin={1}
      aria-valuemax={count}
      aria-valuenow={shown + 1}
      aria-valuetext={text}
      onPointerMove={onPointerMove}
      onPointerLeave={() => choose(undefined)}
      onFocus={() => choose(shown)}
      onBlur={() => choose(undefined)}
      onKeyDown={onKeyDown}
    >
      {children}
    </div>
  );
}

function nextOf(key: string, index: number, count: number): number | undefined {
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return Math.max(0, index - 1);
    case 'ArrowRight':
    case 'ArrowUp':
      return Math.min(count - 1, index + 1);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}

function Drawing({
  labels,
  stacks,
  paths,
  chosen,
  ticks,
  plotWidth,
  step,
}: {
  labels: { short: string }[];
  stacks: Stack[];
  /** One for each stack. */
  paths: string[];
  chosen: number | undefined;
  ticks: bigint[];
  plotWidth: number;
  step: number;
}) {
  const every = Math.ceil(LABEL_WIDTH / step);
  return (
    <svg width={plotWidth} height={HEIGHT} aria-hidden="true">
      {ticks.map((tick) => (
        <line
          key={String(tick)}
          className="chart-line"
          x1={0}
          x2={plotWidth}
          y1={toY(tick, ticks)}
          y2={toY(tick, ticks)}
        />
      ))}
      {chosen !== undefined && (
        <rect className="chart-chosen" x={chosen * step} y={TOP} width={step} height={HEIGHT - TOP - BOTTOM} />
      )}
      {paths.map((path, index) => (
        <path key={stacks[index]?.id} className={`series-${index}`} d={path} />
      ))}
      {labels.map(
        ({ short }, index) =>
          index % every === 0 &&
          (index + every <= labels.length || every === 1) && (
            <text
              // biome-ignore lint/suspicious/noArrayIndexKey: a label is where it is
              key={index}
              x={every === 1 ? (index + 0.5) * step : index * step}
              y={HEIGHT - 6}
              textAnchor={every === 1 ? 'middle' : 'start'}
            >
              {short}
            </text>
          ),
      )}
    </svg>
  );
}

/** Draws each series as one path, so that a year of bars is a few elements. */
function listPaths(stacks: Stack[], ticks: bigint[], step: number): string[] {
  const bases: bigint[] = [];
  const gap = step > 8 ? 2 : 0.5;
  const across = (step - gap).toFixed(2);
  return stacks.map(({ values }) => {
    let path = '';
    for (const [index, value] of values.entries()) {
      if (value === 0n) continue;
      const base = bases[index] ?? 0n;
      bases[index] = base + value;
      const bottom = toY(base, ticks).toFixed(2);
      path += `M${(index * step + gap / 2).toFixed(2)} ${bottom}V${toY(base + value, ticks).toFixed(2)}h${across}V${bottom}z`;
    }
    return path;
  });
}

/** Rounds for the screen alone. */
const toY = (value: bigint, ticks: bigint[]): number =>
  HEIGHT - BOTTOM - (Number(value) / Number(ticks.at(-1) || 1n)) * (HEIGHT - TOP - BOTTOM);

const describe = (stacks: Stack[], index: number, format: (value: bigint) => string): string =>
  stacks
    .filter(({ values }) => (values[index] ?? 0n) > 0n)
    .map(({ label, values }) => `${label}: ${format(values[index] ?? 0n)}`)
    .join(', ');
