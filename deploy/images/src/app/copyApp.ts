import { copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { basename, join } from 'node:path';

/** A string that names a module by a relative path or an import of the package: where it is imported, or loaded at run time. */
const MODULE_NAME = /(['"`])((?:\.{1,2}\/|#)[^'"`\n]*)\.ts\1/g;
/** Files that no process reads: declarations, source maps, prose. Licences stay. */
const UNREAD = /\.(d\.[mc]?ts|map|tsbuildinfo|markdown|md)$/;
/** Left out of our own packages: tests, code that tests share, pages, and the schema of the database client. */
const OWN_UNREAD = /(\.test\.ts|^README\.md)$/;
const OWN_UNREAD_FOLDERS = ['test', 'prisma'];
/** Prisma brings each database's query compiler in three forms and two sizes. The services speak to Postgres, from ES modules. */
const OTHER_COMPILER = /^query_compiler_(?!.*\.postgresql\..*mjs$)/;
/** Files that pnpm writes for itself. */
const OF_PNPM = [
  '.modules.yaml',
  '.pnpm',
  '.bin',
  '.pnpm-workspace-state-v1.json',
  'pnpm-lock.yaml',
  'pnpm-workspace.yaml',
];

/**
 * Copies a package that pnpm deployed, with its modules, to its place in an image. Compiles our own packages and copies the others
 * unchanged. Copies only files that a process reads.
 */
export async function copyApp(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await listEntries(from)) {
    const { name } = entry;
    const [source, target] = [join(from, name), join(to, name)];
    if (name === 'node_modules') await copyModules(source, target);
    else if (name === 'package.json') await writeFile(target, compilePackageFile(await readFile(source, 'utf8')));
    else if (!entry.isDirectory()) await copyOwnFile(source, target);
    else if (!OWN_UNREAD_FOLDERS.includes(name)) await copyOwnFolder(source, target);
  }
}

async function copyModules(from: string, to: string): Promise<void> {
  for (const { name } of await listEntries(from)) {
    const [source, target] = [join(from, name), join(to, name)];
    if (name === '@turnpike') {
      for (const own of await listEntries(source)) await copyApp(join(source, own.name), join(target, own.name));
    } else if (name !== '@types') await copyOther(source, target);
  }
}

async function copyOwnFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await listEntries(from)) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    await (entry.isDirectory() ? copyOwnFolder(source, target) : copyOwnFile(source, target));
  }
}

async function copyOwnFile(source: string, target: string): Promise<void> {
  if (OWN_UNREAD.test(basename(source))) return;
  if (source.endsWith('.ts')) await copyCompiled(source, target.replace(/\.ts$/, '.js'));
  else await copyFile(source, target);
}

async function copyCompiled(source: string, target: string): Promise<void> {
  try {
    await writeFile(target, compileTypeScript(await readFile(source, 'utf8')));
  } catch (error) {
    throw new Error(`${source} could not be compiled`, { cause: error });
  }
}

/** Follows links: where pnpm links inside of a package, the image has a copy. */
async function copyOther(from: string, to: string): Promise<void> {
  if (!(await stat(from)).isDirectory()) {
    await copyFile(from, to);
    return;
  }
  await mkdir(to, { recursive: true });
  for (const { name } of await listEntries(from)) {
    if (UNREAD.test(name) || OTHER_COMPILER.test(name)) continue;
    await copyOther(join(from, name), join(to, name));
  }
}

const listEntries = async (folder: string) =>
  (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !OF_PNPM.includes(name));

/**
 * Converts TypeScript to the JavaScript that Node itself makes of it. Types become blanks, so lines and columns do not change.
 * Modules that are named by a path are named `.js`. Throws a `SyntaxError` for syntax that is more than types.
 */
export const compileTypeScript = (source: string): string =>
  stripTypeScriptTypes(source, { mode: 'strip' }).replace(MODULE_NAME, '$1$2.js$1');

/** A package.json whose exports and imports lead to what was compiled. */
export const compilePackageFile = (text: string): string =>
  JSON.stringify(JSON.parse(text), (_name, value) =>
    typeof value === 'string' && /^\.\/.*\.ts$/.test(value) ? value.replace(/\.ts$/, '.js') : value,
  );
