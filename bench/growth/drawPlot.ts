import { median } from '../median.ts';
import { type Line, type Plot, toSize } from './plot.ts';

const WIDTH = 760;
const HEIGHT = 420;
const FRAME = { left: 64, right: 24, top: 52, bottom: 84 };
const COLORS = ['#1f6feb', '#d1242f', '#1a7f37', '#9a6700', '#8250df'];
const MOST_TICKS = 6;
const INK = '#1f2328';
const FAINT = '#d8dee4';

interface Mark {
  size: number;
  value: number;
  least: number;
  most: number;
}

/** A line chart as SVG: sizes on a logarithmic axis, medians with the least and the most of their rounds. */
export function drawPlot(plot: Plot): string {
  const lines = plot.lines.map((line) => ({ ...line, marks: toMarks(line, plot.isRelative) }));
  const all = lines.flatMap(({ marks }) => marks);
  const sizes = [...new Set(all.map(({ size }) => size))].sort((a, b) => a - b);
  const [smallest = 1, largest = 1] = [sizes[0], sizes.at(-1)];
  const ticks = toTicks(Math.max(1, ...all.map(({ most }) => most)));
  const highest = ticks.at(-1) ?? 1;
  const [right, bottom] = [WIDTH - FRAME.right, HEIGHT - FRAME.bottom];
  const x = (size: number): number =>
    FRAME.left + 16 + ((right - FRAME.left - 32) * Math.log(size / smallest)) / (Math.log(largest / smallest) || 1);
  const y = (value: number): number => bottom - ((bottom - FRAME.top) * value) / highest;
  const unit = plot.isRelative ? 'each line ÷ its first point' : (plot.lines[0]?.unit ?? '');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="system-ui, sans-serif" font-size="12" fill="${INK}">`,
    `<title>${plot.title}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    text(FRAME.left, 24, plot.title, 'font-size="15" font-weight="600"'),
    text(FRAME.left, 42, unit),
    ...ticks.flatMap((value) => [
      rule({ x: FRAME.left, y: y(value) }, { x: right, y: y(value) }, FAINT),
      text(FRAME.left - 8, y(value) + 4, String(value), 'text-anchor="end"'),
    ]),
    ...sizes.flatMap((size) => [
      rule({ x: x(size), y: bottom }, { x: x(size), y: bottom + 5 }, INK),
      text(x(size), bottom + 20, toSize(size), 'text-anchor="middle"'),
    ]),
    text((FRAME.left + right) / 2, bottom + 40, plot.along, 'text-anchor="middle"'),
    ...lines.flatMap(({ marks }, index) => drawLine(marks, COLORS[index % COLORS.length] ?? INK, { x, y })),
    ...drawLegend(plot.lines),
    '</svg>',
    '',
  ].join('\n');
}

function toMarks({ points }: Line, isRelative: boolean): Mark[] {
  const divisor = isRelative ? median(points[0]?.rounds ?? []) : 1;
  return points.map(({ size, rounds }) => {
    const values = rounds.map((value) => value / divisor);
    return { size, value: median(values), least: Math.min(...values), most: Math.max(...values) };
  });
}

/** From 0 on in steps of 1, 2 or 5 times a power of ten, the last above `most`. */
function toTicks(most: number): number[] {
  const rough = most / MOST_TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const count = Math.ceil((most * 1.02) / step);
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(6)));
}

function drawLine(
  marks: Mark[],
  color: string,
  { x, y }: { x: (size: number) => number; y: (value: number) => number },
): string[] {
  const at = marks.map(({ size, value }) => `${round(x(size))},${round(y(value))}`).join(' ');
  return [
    `<polyline points="${at}" fill="none" stroke="${color}" stroke-width="2"/>`,
    ...marks.flatMap(({ size, value, least, most }) => [
      rule({ x: x(size), y: y(least) }, { x: x(size), y: y(most) }, color),
      `<circle cx="${round(x(size))}" cy="${round(y(value))}" r="3.5" fill="${color}"/>`,
    ]),
  ];
}

/** At the foot, in columns of one width. */
function drawLegend(lines: Line[]): string[] {
  const column = (WIDTH - FRAME.left - FRAME.right) / lines.length;
  return lines.flatMap(({ name }, index) => {
    const left = FRAME.left + index * column;
    const color = COLORS[index % COLORS.length] ?? INK;
    return [
      `<circle cx="${round(left + 4)}" cy="${HEIGHT - 18}" r="4" fill="${color}"/>`,
      text(left + 14, HEIGHT - 14, name),
    ];
  });
}

interface Place {
  x: number;
  y: number;
}

const rule = (from: Place, to: Place, color: string): string =>
  `<line x1="${round(from.x)}" y1="${round(from.y)}" x2="${round(to.x)}" y2="${round(to.y)}" stroke="${color}"/>`;

const text = (x: number, y: number, words: string, attributes = ''): string =>
  `<text x="${round(x)}" y="${round(y)}" ${attributes}>${words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`;

const round = (value: number): number => Number(value.toFixed(1));
