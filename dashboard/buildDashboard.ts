import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { PAGES } from '@turnpike/console-api/pages';

const HERE = import.meta.dirname;
const ROOT = join(HERE, '..');
/** The code that the pages are made from, in the repository. */
const SOURCES = [
  'dashboard',
  ...['api-keys', 'config', 'console-api', 'internal-api', 'money', 'public-api'].map((lib) => `libs/${lib}/src`),
  'pnpm-lock.yaml',
];
const NOT_READ = new Set(['node_modules', 'dist', 'test', 'pictures']);
const DIST = join(HERE, 'dist');
const STAMP_FILE = '.stamp';
/** The largest first load of any page, compressed. */
const FIRST_LOAD_LIMIT_BYTES = 200 * 1024;

/**
 * Builds the dashboard, unless its files of this very code are there. Returns their folder. Throws if the first load of a page is above
 * 200 KB.
 */
export async function buildDashboard(say: (line: string) => void): Promise<string> {
  const stamp = await computeStamp();
  if ((await readStamp()) === stamp) return DIST;
  const outDir = await mkdtemp(join(HERE, 'dist-'));
  try {
    const vite = [join(HERE, 'node_modules/vite/bin/vite.js'), 'build', '--logLevel', 'warn'];
    await promisify(execFile)(process.execPath, [...vite, '--outDir', outDir, '--emptyOutDir'], {
      cwd: HERE,
      // The pages do not depend on the command that builds them: a run of tests sets NODE_ENV to `test`.
      env: { ...process.env, NODE_ENV: 'production' },
    });
    const manifest: Manifest = JSON.parse(await readFile(join(outDir, '.vite/manifest.json'), 'utf8'));
    for (const line of await checkFirstLoads(outDir, manifest)) say(line);
    await writeFile(join(outDir, 'files.json'), JSON.stringify(listFilesOfPages(manifest)));
    await writeFile(join(outDir, STAMP_FILE), stamp);
    await chmod(outDir, 0o755);
    // Another build at the same time may have put the same files there, which a service reads by now.
    if ((await readStamp()) !== stamp) {
      await rm(DIST, { recursive: true, force: true });
      await rename(outDir, DIST).catch(async (error: unknown) => {
        if ((await readStamp()) !== stamp) throw error;
      });
    }
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
  return DIST;
}

const readStamp = (): Promise<string> => readFile(join(DIST, STAMP_FILE), 'utf8').catch(() => '');

/** Changes whenever a build would come out otherwise. */
export async function computeStamp(): Promise<string> {
  const hash = createHash('sha256');
  for (const file of await listFiles(SOURCES.map((place) => join(ROOT, place)))) {
    hash.update(`${relative(ROOT, file)}\n`).update(await readFile(file));
  }
  return hash.digest('hex');
}

async function listFiles(places: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const place of places) {
    const entries = await readdir(place, { withFileTypes: true }).catch(() => undefined);
    if (!entries) found.push(place);
    const read = (entries ?? []).filter(({ name }) => !NOT_READ.has(name) && !name.startsWith('dist-'));
    found.push(...(await listFiles(read.map(({ name }) => join(place, name)).sort())));
  }
  return found;
}

interface Chunk {
  file: string;
  css?: string[];
  imports?: string[];
  isEntry?: boolean;
  isDynamicEntry?: boolean;
}

type Manifest = Record<string, Chunk>;

/** The code of all pages. The entry loads it after it has begun the first reads. */
const MAIN = 'src/main.tsx';
const listEntries = (manifest: Manifest): string[] => Object.keys(manifest).filter((name) => manifest[name]?.isEntry);

/** Returns a line for each page: what a browser loads before it shows that page, compressed. */
async function checkFirstLoads(outDir: string, manifest: Manifest): Promise<string[]> {
  const pages = Object.keys(manifest).filter((name) => manifest[name]?.isDynamicEntry && name !== MAIN);
  const lines: string[] = [];
  for (const page of pages) {
    const files = new Set<string>();
    for (const name of [...listEntries(manifest), MAIN, page]) addFiles(manifest, name, files);
    let bytes = gzipSync(await readFile(join(outDir, 'index.html'))).length;
    for (const file of files) bytes += gzipSync(await readFile(join(outDir, file))).length;
    const line = `${page}: first load ${(bytes / 1024).toFixed(1)} KB of ${FIRST_LOAD_LIMIT_BYTES / 1024} KB`;
    if (bytes > FIRST_LOAD_LIMIT_BYTES) throw new Error(`The dashboard is too large. ${line}.`);
    lines.push(line);
  }
  return lines;
}

/** The page that the start leads to. */
const START = 'organizations';

/** Lists by the path of each page the files that it loads beside those of `index.html`. Throws if a page has no file of its name. */
function listFilesOfPages(manifest: Manifest): Record<string, string[]> {
  const common = new Set<string>();
  for (const name of listEntries(manifest)) addFiles(manifest, name, common);
  return Object.fromEntries(
    Object.entries(PAGES).map(([name, path]) => {
      const page = name === 'start' ? START : name;
      const source = `src/pages/${page.replace(/^./, (letter) => letter.toUpperCase())}.tsx`;
      if (!manifest[source]) throw new Error(`the page ${name} has no file ${source}`);
      const files = new Set(common);
      for (const part of [MAIN, source]) addFiles(manifest, part, files);
      return [path, [...files].slice(common.size)];
    }),
  );
}

function addFiles(manifest: Manifest, name: string, files: Set<string>): void {
  const chunk = manifest[name];
  if (!chunk || files.has(chunk.file)) return;
  for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
  for (const imported of chunk.imports ?? []) addFiles(manifest, imported, files);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await buildDashboard((line) => process.stdout.write(`${line}\n`));
}
