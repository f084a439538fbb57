import { stripTypeScriptTypes } from 'node:module';

/** A string that names a module by a relative path or an import of the package: where it is imported, or loaded at run time. */
const MODULE_NAME = /(['"`])((?:\.{1,2}\/|#)[^'"`\n]*)\.ts\1/g;

/**
 * TypeScript to the JavaScript that Node makes of it when it runs the source: types become blanks, so every line and column
 * stays where it was. Modules that are named by a path are named `.js`. Throws a `SyntaxError` for what is more than types.
 */
export const compileTypeScript = (source: string): string =>
  stripTypeScriptTypes(source, { mode: 'strip' }).replace(MODULE_NAME, '$1$2.js$1');

/** A package.json whose exports and imports lead to what was compiled. */
export const compilePackageFile = (text: string): string =>
  JSON.stringify(JSON.parse(text), (_name, value) =>
    typeof value === 'string' && /^\.\/.*\.ts$/.test(value) ? value.replace(/\.ts$/, '.js') : value,
  );
