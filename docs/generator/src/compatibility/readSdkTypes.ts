import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repositoryRoot.ts';

const PACKAGE = 'openai';
const TESTS = join(repositoryRoot, 'test');

/** The client SDK that the system tests use, and this service is audited against. */
export interface Sdk {
  version: string;
  /** The fields of an interface (`ChatCompletion.Choice`), or the alternatives of a union type, sorted. Throws if there is no such type. */
  membersOf(file: string, type: string): string[];
  /** The values of each field of an interface whose type is nothing but texts in quotes, and null. */
  valuesOf(file: string, type: string): Map<string, string[]>;
}

/** Reads the pinned SDK. Throws when another version is installed: its declarations would be audited under a wrong name. */
export function readSdk(): Sdk {
  const pinned = readJson<{ devDependencies: Record<string, string> }>(join(TESTS, 'package.json'));
  const folder = join(TESTS, 'node_modules', PACKAGE);
  const { version } = readJson<{ version: string }>(join(folder, 'package.json'));
  if (pinned.devDependencies[PACKAGE] !== version) throw new Error(`${PACKAGE} ${version} is not the pinned version`);
  const readDeclarations = (file: string): string => readFileSync(join(folder, 'resources', file), 'utf8');
  return {
    version,
    membersOf(file, type) {
      return findMembers(readDeclarations(file), type).sort();
    },
    valuesOf: (file, type) => findValues(readDeclarations(file), type),
  };
}

const readJson = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8')) as T;

/** The members of a type in a declaration file: TypeScript as the SDK's generator writes it, not all that there can be. */
export function findMembers(declarations: string, type: string): string[] {
  const { scope, name, fields } = findType(declarations, type);
  if (fields) return [...fields.keys()];
  const union = new RegExp(`\\btype ${name} =([^;]+);`).exec(scope)?.[1];
  if (union === undefined) throw new Error(`the SDK declares no ${type} that can be read`);
  return splitTop(union, '|').map((alternative) => alternative.trim());
}

/** The values of each field that has no others, of a type in a declaration file. */
export function findValues(declarations: string, type: string): Map<string, string[]> {
  const { fields = new Map<string, string>() } = findType(declarations, type);
  const closed = [...fields].filter(([, text]) => /^\|?\s*(?:(?:'[^']*'|null)\s*\|?\s*)+$/.test(text.trim()));
  return new Map(closed.map(([name, text]) => [name, [...text.matchAll(/'([^']*)'/g)].map(([, value = '']) => value)]));
}

/** Place where a type is declared, and the text of each field's type if it is an interface. */
function findType(declarations: string, type: string): { scope: string; name: string; fields?: Map<string, string> } {
  const names = type.split('.');
  const name = names.pop() ?? '';
  let scope = declarations.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');
  for (const namespace of names) scope = findBody(scope, new RegExp(`\\bnamespace ${namespace} \\{`)) ?? '';
  const body = findBody(scope, new RegExp(`\\binterface ${name}(?:<[^{]*>)? \\{`));
  if (body === undefined) return { scope, name };
  const members = splitTop(body, ';').flatMap((member) => {
    const [, field, text = ''] = /^\s*(\w+)\??:([\s\S]*)$/.exec(member) ?? [];
    return field === undefined ? [] : [[field, text] as const];
  });
  return { scope, name, fields: new Map(members) };
}

/** Returns the text between the brace at the end of a pattern's first match and its closing brace. */
function findBody(text: string, opening: RegExp): string | undefined {
  const match = opening.exec(text);
  if (!match) return undefined;
  const start = match.index + match[0].length;
  let depth = 1;
  for (let position = start; position < text.length; position += 1) {
    if (text[position] === '{') depth += 1;
    else if (text[position] === '}') depth -= 1;
    if (depth === 0) return text.slice(start, position);
  }
  return undefined;
}

/** Splits where a separator stands outside all brackets. */
function splitTop(text: string, separator: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of text) {
    if ('{[(<'.includes(character)) depth += 1;
    else if ('}])>'.includes(character)) depth -= 1;
    if (character === separator && depth === 0) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts.filter((part) => part.trim() !== '');
}
