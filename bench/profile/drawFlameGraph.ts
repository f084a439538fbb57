/** A profile of V8's sampling profiler, as `node --cpu-prof` writes it. */
export interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number }; children?: number[] }[];
  samples: number[];
  /** Microseconds before each sample. */
  timeDeltas: number[];
}

/** A function in one place of the stack, with the time in it and in what it called. */
interface Frame {
  name: string;
  place: string;
  us: number;
  callees: Map<string, Frame>;
}

const WIDTH = 1_200;
const ROW = 17;
const HEAD = 44;
/** Narrower ones cannot be seen. */
const LEAST_PX = 1.5;
const CHARACTER_PX = 6.2;
/** Deeper ones are those of Node's own loading of modules. */
const DEEPEST = 30;
/** What is no work. */
const WAITING = new Set(['(idle)', '(root)']);

/** Draws where the time of a process went: each bar is a function, as wide as the time in it, above whoever called it. */
export function drawFlameGraph(profile: CpuProfile, title: string): string {
  const root = toFrames(profile);
  const rows: string[] = [];
  let deepest = 0;
  const draw = (frame: Frame, x: number, depth: number): void => {
    const width = (frame.us / root.us) * WIDTH;
    if (width < LEAST_PX || depth > DEEPEST) return;
    deepest = Math.max(deepest, depth);
    rows.push(toBar(frame, { x, width, depth, share: frame.us / root.us }));
    let next = x;
    for (const callee of [...frame.callees.values()].sort((a, b) => b.us - a.us)) {
      draw(callee, next, depth + 1);
      next += (callee.us / root.us) * WIDTH;
    }
  };
  let x = 0;
  for (const callee of [...root.callees.values()].sort((a, b) => b.us - a.us)) {
    draw(callee, x, 0);
    x += (callee.us / root.us) * WIDTH;
  }
  const height = HEAD + (deepest + 1) * ROW + 8;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">
<title>${escapeXml(title)}: where its time goes</title>
<rect width="100%" height="100%" fill="#fff"/>
<text x="8" y="18" font-size="14" font-weight="bold">${escapeXml(title)}</text>
<text x="8" y="34" fill="#555">${(root.us / 1e6).toFixed(1)} s of work; the caller stands above what it called; blue: ours, orange: Node, green: packages, gray: V8</text>
${rows.join('\n')}
</svg>
`;
}

function toFrames({ nodes, samples, timeDeltas }: CpuProfile): Frame {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const callerOf = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const root: Frame = { name: '', place: '', us: 0, callees: new Map() };
  samples.forEach((sample, index) => {
    const us = timeDeltas[index] ?? 0;
    const stack: { name: string; place: string }[] = [];
    for (let id: number | undefined = sample; id !== undefined; id = callerOf.get(id)) {
      const frame = byId.get(id)?.callFrame;
      if (frame) stack.unshift({ name: frame.functionName || '(anonymous)', place: toPlace(frame) });
    }
    const [, ...frames] = stack;
    if (frames.length === 0 || WAITING.has(frames.at(-1)?.name ?? '')) return;
    root.us += us;
    let at = root;
    for (const { name, place } of frames) {
      const key = `${name} ${place}`;
      const callee = at.callees.get(key) ?? { name, place, us: 0, callees: new Map() };
      callee.us += us;
      at.callees.set(key, callee);
      at = callee;
    }
  });
  return root;
}

/** Where a function stands, without what depends on the machine. */
function toPlace({ url, lineNumber }: { url: string; lineNumber: number }): string {
  if (url === '') return '';
  const path = url
    .replace(/^.*\/node_modules\/(?!\.pnpm)/, 'npm:')
    .replace(/^file:.*?\/((?:services|libs|deploy|bench|test)\/)/, '$1');
  return `${path}:${lineNumber + 1}`;
}

function toBar(
  { name, place, us }: Frame,
  { x, width, depth, share }: { x: number; width: number; depth: number; share: number },
): string {
  const y = HEAD + depth * ROW;
  const shown = width > 4 * CHARACTER_PX ? name.slice(0, Math.floor((width - 4) / CHARACTER_PX)) : '';
  const told = `${name} ${place} — ${(share * 100).toFixed(1)} %, ${(us / 1_000).toFixed(0)} ms`;
  return `<g><title>${escapeXml(told)}</title><rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 1}" fill="${toColor(place)}"/><text x="${(x + 2).toFixed(1)}" y="${y + 12}">${escapeXml(shown)}</text></g>`;
}

function toColor(place: string): string {
  if (place === '') return '#d0d0d0';
  if (place.startsWith('node:')) return '#f6b26b';
  return place.startsWith('npm:') ? '#93c47d' : '#8ab4f8';
}

const escapeXml = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
